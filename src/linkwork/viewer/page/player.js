// Time and the hand: the timeline, the keys, the mouse and fingers.

class Player {
  constructor(scene, picture, camera) {
    Object.assign(this, { scene, picture, camera });
    this.time = 0;
    this.speed = 1;
    this.length = scene.dt * (scene.frames - 1);
    this.playing = this.length > 0 && !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.drawn = 0;
    this.stale = true;
    this.on = (id) => document.getElementById(id);
    this.on("bar").hidden = !(this.length > 0);
    if (!(this.length > 0)) this.on("bar").style.display = "none";
    this.marks();
    this.buttons();
    this.hand(picture.canvas);
    new ResizeObserver(() => { this.stale = true; }).observe(picture.canvas);
    picture.dark.addEventListener("change", () => { this.stale = true; });
    requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    const passed = Math.min(2, Math.max(0, (now - (this.before ?? now)) / 1000));
    this.before = now;
    if (this.playing) {
      this.time += this.speed * passed;
      if (this.time > this.length) this.time = this.length > 0 ? this.time % (this.length + 0.6) : 0;  // a short rest at the end
      this.stale = true;
    }
    if (this.stale) this.draw();
    if (this.playing && this.mouse && now - this.named > 150) this.name(this.mouse);  // bodies move under it
    requestAnimationFrame((then) => this.tick(then));
  }

  draw() {
    const { scene } = this, time = Math.min(this.time, this.length);
    const where = this.length > 0 ? Math.min(time / scene.dt, scene.frames - 1) : 0, frame = Math.floor(where);
    this.picture.update(frame, where - frame);
    this.picture.draw(this.camera);
    this.drawn++;
    this.stale = false;
    if (document.activeElement !== this.on("timeline") || this.playing) this.on("timeline").value = 1000 * time / (this.length || 1);
    this.on("clock").textContent = `${(scene.start + time).toFixed(2)} / ${(scene.start + this.length).toFixed(2)} s`;
    const past = this.scene.events.filter(([then]) => then <= time + 1e-9), last = past.length ? past[past.length - 1][0] : 0;
    this.on("event").textContent = past.filter(([then]) => then === last).map(([, words]) => words).join("\n");
    this.on("play").textContent = this.playing ? "\u275a\u275a" : "\u25b6";
  }

  // Events, on the timeline: the middle of the slider's thumb goes from 8 pixels to as many before its end.
  marks() {
    for (const [time, words] of this.scene.events) {
      const mark = document.createElement("i"), share = time / (this.length || 1);
      mark.className = "mark";
      mark.title = words;
      mark.style.left = `calc(${100 * share}% + ${8 - 16 * share}px)`;
      this.on("track").append(mark);
    }
  }

  go(time, playing = false) {
    this.time = Math.max(0, Math.min(this.length, time));
    this.playing = playing;
    this.stale = true;
  }

  step(pictures) {
    const at = Math.round(Math.min(this.time, this.length) / this.scene.dt);
    this.go((at + pictures) * this.scene.dt);
  }

  toggle() {
    this.go(this.time >= this.length && !this.playing ? 0 : this.time, !this.playing);
  }

  home() {
    this.camera.home();
    this.stale = true;
  }

  buttons() {
    this.on("play").onclick = () => this.toggle();
    this.on("back").onclick = () => this.step(-1);
    this.on("next").onclick = () => this.step(1);
    this.on("home").onclick = () => this.home();
    this.on("timeline").oninput = (event) => this.go(event.target.value / 1000 * this.length);
    this.on("speed").onchange = (event) => { this.speed = Number(event.target.value); };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
      const slider = event.target === this.on("timeline");
      const keys = { " ": () => this.toggle(), h: () => this.home() };
      if (!slider) Object.assign(keys, { ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1) });
      const act = keys[event.key] || keys[event.key.toLowerCase()];
      if (!act || (event.key === " " && event.target.tagName === "BUTTON")) return;
      event.preventDefault();
      act();
    });
  }

  hand(canvas) {
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("turning");
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      this.name(null);
    });
    const up = (event) => {
      fingers.delete(event.pointerId);
      if (!fingers.size) canvas.classList.remove("turning");
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.name(null));
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return this.name(event);
      const right = event.clientX - before[0], down = event.clientY - before[1];
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const gap = (place) => Math.hypot(place[0] - other[0], place[1] - other[1]) || 1;
        this.camera.zoom(gap(before) / gap([event.clientX, event.clientY]));
        this.camera.move(0.5 * right, 0.5 * down, canvas.clientHeight);
      } else if (event.shiftKey || event.buttons & 6) {
        this.camera.move(right, down, canvas.clientHeight);
      } else {
        this.camera.turn(right, down);
      }
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      this.stale = true;
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      if (window.self !== window.top && document.activeElement !== canvas) return;  // the page around scrolls
      event.preventDefault();
      this.camera.zoom(Math.exp(0.0015 * event.deltaY * (event.deltaMode ? 20 : 1)));
      this.stale = true;
    }, { passive: false });
  }

  // The name of the body under the mouse, beside it.
  name(event) {
    [this.mouse, this.named] = [event, performance.now()];
    const label = this.on("name"), found = event && this.picture.named(this.camera, event.offsetX, event.offsetY);
    label.hidden = !found;
    if (!found) return;
    label.textContent = found;
    label.style.left = `${event.clientX + 14}px`;
    label.style.top = `${event.clientY + 10}px`;
  }
}

async function begin() {
  try {
    const scene = await readScene(), picture = new Picture(document.getElementById("canvas"), scene);
    window.linkwork = new Player(scene, picture, new Camera(scene));
  } catch (error) {
    const message = document.getElementById("message");
    message.textContent = error.message;
    message.hidden = false;
    document.getElementById("bar").style.display = "none";
    throw error;
  }
}

begin();
