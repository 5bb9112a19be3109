// A mechanism that moves by its own dynamics: time, sliders, and the hand that pulls a body.

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

class Live {
  constructor(scene, picture, camera, step, placements) {
    Object.assign(this, { scene, picture, camera, step, placements });
    this.robot = scene.robot;
    this.on = (id) => document.getElementById(id);
    this.time = this.steps = this.drawn = this.spent = 0;
    this.playing = false;
    this.pull = null;  // the body that is pulled: its part, the place on it, and where the hand is
    this.sliders = this.robot.joints.map((joint) => this.slider(joint));
    picture.update(0, 0);  // makes the poses
    this.again();
    this.on("play").onclick = () => this.toggle();
    this.on("again").onclick = () => this.again();
    this.on("home").onclick = () => { camera.home(); this.stale = true; };
    document.addEventListener("keydown", (event) => {
      const act = { " ": () => this.toggle(), r: () => this.again(), h: () => { camera.home(); this.stale = true; } }[event.key.toLowerCase()];
      if (!act || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "BUTTON") return;
      event.preventDefault();
      act();
    });
    this.hand(picture.canvas);
    new ResizeObserver(() => { this.stale = true; }).observe(picture.canvas);
    picture.dark.addEventListener("change", () => { this.stale = true; });
    requestAnimationFrame((now) => this.tick(now));
  }

  slider(joint) {
    const label = document.createElement("label"), input = document.createElement("input");
    label.textContent = joint.name;
    Object.assign(input, { type: "range", min: joint.low, max: joint.high, step: "any" });
    input.setAttribute("aria-label", joint.name);
    input.oninput = () => this.place(joint.q, Number(input.value));
    this.on("joints").append(label, input);
    return input;
  }

  // The mechanism at rest, with one of its joints moved by hand.
  place(q, value) {
    this.playing = false;
    this.step.arrays.q[q] = value;
    this.step.arrays.v.fill(0);
    this.moved();
  }

  again() {
    const arrays = this.step.arrays;
    arrays.q.set(this.robot.q);
    for (const name of ["v", "progress", "tau", "f_ext"]) arrays[name].fill(0);
    this.time = this.steps = this.spent = 0;
    this.playing = false;
    this.on("message").hidden = true;
    this.moved();
  }

  toggle() {
    this.playing = !this.playing;
    this.stale = true;
  }

  tick(now) {
    const passed = Math.min(0.05, Math.max(0, (now - (this.before ?? now)) / 1000));
    this.before = now;
    if (this.playing) this.advance(Math.max(1, Math.round(passed / this.robot.dt)));
    if (this.stale) this.draw();
    requestAnimationFrame((then) => this.tick(then));
  }

  // So many steps; the hand pulls anew in each.
  advance(count) {
    const { arrays } = this.step, start = performance.now();
    for (let i = 0; i < count; i++) {
      if (this.pull) this.pulled();
      const status = this.step.call();
      if (status) return this.say(this.step.status(status));
      arrays.q.set(arrays.q_next);
      arrays.v.set(arrays.v_next);
      arrays.progress.set(arrays.progress_next);
    }
    this.spent += performance.now() - start;  // clocks of browsers are coarse
    this.steps += count;
    this.time += count * this.robot.dt;
    this.moved();
  }

  say(text) {
    this.playing = false;
    this.on("message").textContent = text;
    this.on("message").hidden = false;
    this.stale = true;
  }

  // Where all bodies are, by the exported kinematics.
  kinematics() {
    this.placements.arrays.q.set(this.step.arrays.q);
    const status = this.placements.call();
    if (status) this.say(this.placements.status(status));
  }

  // The rotation and the place of a body; the world is body 0.
  frame(body) {
    const m = this.placements.arrays.placements, at = 16 * (body - 1);
    const rows = body ? [0, 4, 8].map((k) => [m[at + k], m[at + k + 1], m[at + k + 2]]) : [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    return { rows, place: body ? [m[at + 3], m[at + 7], m[at + 11]] : [0, 0, 0] };
  }

  at({ rows, place }, point) {
    return rows.map((row, k) => place[k] + row[0] * point[0] + row[1] * point[1] + row[2] * point[2]);
  }

  moved() {
    this.kinematics();
    const { picture, scene } = this, { gl } = picture;
    scene.moving.forEach((part, i) => {
      if (part.body === undefined) return;
      const { rows, place } = this.frame(part.body);
      picture.poses[i].place.set(place);
      picture.poses[i].turn.set(quaternion(rows));
    });
    for (const tube of picture.tubes) {
      const { bodies, tip } = scene.moving[tube.part];
      if (!bodies) continue;
      const ends = [...bodies.map((body) => this.frame(body).place), this.at(this.frame(bodies[bodies.length - 1]), tip)];
      tube.written.set(ends.flat());
      gl.bindBuffer(gl.ARRAY_BUFFER, tube.buffer);
      gl.bufferData(gl.ARRAY_BUFFER, tube.written, gl.DYNAMIC_DRAW);
    }
    this.robot.joints.forEach((joint, k) => { this.sliders[k].value = this.step.arrays.q[joint.q]; });
    this.stale = true;
  }

  draw() {
    this.picture.draw(this.camera);
    this.drawn++;
    this.stale = false;
    const speed = this.steps ? `, ${(1000 * this.spent / this.steps).toFixed(1)} µs a step` : "";
    this.on("clock").textContent = `${this.time.toFixed(2)} s${speed}`;
    this.on("play").textContent = this.playing ? "\u275a\u275a" : "\u25b6";
  }

  // The hand

  // A spring and a damper from a place on a body to the hand, as a wrench in the body's frame.
  pulled() {
    this.kinematics();
    const { body, point, to } = this.pull, frame = this.frame(body), here = this.at(frame, point);
    const stiffness = 50 * this.robot.mass / this.scene.size, before = this.pull.before || here;
    this.pull.before = here;
    const force = here.map((x, k) => stiffness * (to[k] - x) - 0.05 * stiffness * (x - before[k]) / this.robot.dt);
    const own = [0, 1, 2].map((k) => frame.rows[0][k] * force[0] + frame.rows[1][k] * force[1] + frame.rows[2][k] * force[2]);
    const [x, y, z] = point, [a, b, c] = own;
    const f = this.step.arrays.f_ext;
    f.fill(0);
    f.set([a, b, c, y * c - z * b, z * a - x * c, x * b - y * a], 6 * (body - 1));
  }

  // The point of the world that is seen at a place of the page, as far away as another.
  under(x, y, like) {
    const { camera, picture: { canvas } } = this, [right, up, toward] = camera.axes(), eye = camera.eye();
    const wide = canvas.clientWidth, high = canvas.clientHeight;
    const far = [0, 1, 2].reduce((sum, k) => sum + (eye[k] - like[k]) * toward[k], 0);
    const f = Math.min(1, 0.75 * wide / high) / Math.tan(16 * Math.PI / 180);
    const u = (2 * x / wide - 1) * far * wide / (high * f), v = (1 - 2 * y / high) * far / f;
    return eye.map((e, k) => e + u * right[k] + v * up[k] - far * toward[k]);
  }

  grab(event) {
    const part = this.picture.seen(this.camera, event.offsetX, event.offsetY);
    const body = part < 0 ? 0 : this.scene.moving[part].body;
    if (!body) return false;
    const frame = this.frame(body), mesh = this.picture.meshes.find((one) => one.part === part);
    const like = this.at(frame, mesh.low.map((x, k) => x + 0.5 * mesh.size[k]));
    const to = this.under(event.offsetX, event.offsetY, like);
    const off = to.map((x, k) => x - frame.place[k]);
    const point = [0, 1, 2].map((k) => frame.rows[0][k] * off[0] + frame.rows[1][k] * off[1] + frame.rows[2][k] * off[2]);
    this.pull = { body, point, to, like };
    this.playing = true;
    return true;
  }

  hand(canvas) {
    let before = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      if (!this.grab(event)) before = [event.clientX, event.clientY];
    });
    const up = () => {
      before = this.pull = null;
      this.step.arrays.f_ext.fill(0);
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointermove", (event) => {
      if (this.pull) {
        this.pull.to = this.under(event.offsetX, event.offsetY, this.pull.like);
      } else if (before) {
        const right = event.clientX - before[0], down = event.clientY - before[1];
        if (event.shiftKey || event.buttons & 6) this.camera.move(right, down, canvas.clientHeight);
        else this.camera.turn(right, down);
        before = [event.clientX, event.clientY];
        this.stale = true;
      }
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.camera.zoom(Math.exp(0.0015 * event.deltaY * (event.deltaMode ? 20 : 1)));
      this.stale = true;
    }, { passive: false });
  }
}

// The unit quaternion (x, y, z, w) of a rotation.
function quaternion([[a, b, c], [d, e, f], [g, h, i]]) {
  const all = [1 + a - e - i, 1 - a + e - i, 1 - a - e + i, 1 + a + e + i], most = all.indexOf(Math.max(...all));
  const q = [[all[0], b + d, c + g, h - f], [b + d, all[1], f + h, c - g], [c + g, f + h, all[2], d - b], [h - f, c - g, d - b, all[3]]][most];
  const size = Math.hypot(...q);
  return q.map((x) => x / size);
}

async function begin() {
  try {
    const scene = await readScene(), picture = new Picture(document.getElementById("canvas"), scene);
    const step = new PageStepModule(await WebAssembly.compile(bytesOf(page_step)));
    const placements = new PagePlacementsModule(await WebAssembly.compile(bytesOf(page_placements)));
    window.linkwork = new Live(scene, picture, new Camera(scene), step, placements);
  } catch (error) {
    const message = document.getElementById("message");
    message.textContent = error.message;
    message.hidden = false;
    throw error;
  }
}

begin();
