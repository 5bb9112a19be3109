// Drawing by WebGL 2: meshes on bodies, tubes along moving points, their shadows on a ground of squares.

const ROTATED = `
vec3 rotated(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }`;

const SHADOWED = `
uniform mat4 camera;
uniform vec4 shadow;  // toward the light; the ground's height where a shadow is drawn, else 1e30
vec4 seen(vec3 world) {
  if (shadow.w < 1e29) {
    float above = max(world.z - shadow.w, 0.0);
    world = vec3(world.xy - shadow.xy / shadow.z * above, shadow.w);
  }
  return camera * vec4(world, 1.0);
}`;

const MESH = `#version 300 es
in vec3 vertex;
in vec3 normal;
uniform vec3 low, size, place;
uniform vec4 turn;
out vec3 facing, at;
${ROTATED}${SHADOWED}
void main() {
  at = place + rotated(turn, low + size * vertex);
  facing = rotated(turn, normal);
  gl_Position = seen(at);
}`;

const TUBE = `#version 300 es
in vec3 vertex;
in vec3 from, to;
uniform float radius;
uniform bool taper;  // to a point, as an arrow's head
out vec3 facing, at;
${SHADOWED}
void main() {
  vec3 z = to - from;
  float span = length(z);
  z = span > 0.0 ? z / span : vec3(0.0, 0.0, 1.0);
  vec3 x = normalize(cross(abs(z.y) < 0.9 ? vec3(0.0, 1.0, 0.0) : vec3(1.0, 0.0, 0.0), z));
  vec3 y = cross(z, x);
  facing = vertex.x * x + vertex.y * y;
  float over = taper ? 0.0 : min(0.4 * radius, 0.2 * span);  // neighbours overlap, so that no gap opens where they bend
  float wide = span > 0.0 ? radius * (taper ? 1.0 - vertex.z : 1.0) : 0.0;
  at = mix(from - over * z, to + over * z, vertex.z) + wide * facing;
  gl_Position = seen(at);
}`;

const LIT = `#version 300 es
precision highp float;
in vec3 facing, at;
uniform vec4 colour;
uniform vec3 eye, light;
uniform bool plain;
out vec4 pixel;
void main() {
  if (plain) { pixel = colour; return; }
  vec3 n = normalize(facing), toward = normalize(eye - at);
  if (dot(n, toward) < 0.0) n = -n;
  float lit = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pow(max(dot(n, normalize(light + toward)), 0.0), 40.0);
  vec3 own = pow(colour.rgb, vec3(2.2));
  vec3 sum = own * (0.26 + 0.24 * sky + 0.58 * lit) + 0.08 * shine;
  pixel = vec4(pow(min(sum, 1.0), vec3(1.0 / 2.2)), colour.a);
}`;

const GROUND = `#version 300 es
in vec2 vertex;
uniform mat4 camera;
uniform vec3 middle;
uniform float reach;
out vec2 at;
void main() {
  at = middle.xy + reach * vertex;
  gl_Position = camera * vec4(at, middle.z, 1.0);
}`;

const SQUARES = `#version 300 es
precision highp float;
in vec2 at;
uniform vec3 line, middle;
uniform float square, reach;
out vec4 pixel;
float lines(vec2 p) {
  vec2 width = fwidth(p), off = abs(fract(p - 0.5) - 0.5) / width;
  float near = 1.0 - min(min(off.x, off.y), 1.0);
  return near * clamp(1.5 - 2.5 * max(width.x, width.y), 0.0, 1.0);
}
void main() {
  float fade = 1.0 - smoothstep(0.15, 1.0, length(at - middle.xy) / reach);
  float strength = max(0.5 * lines(at / square), lines(at / (5.0 * square)));
  pixel = vec4(line, strength * fade);
}`;

const LIGHT = [0.35, -0.45, 0.82];

class Picture {
  constructor(canvas, scene) {
    const gl = canvas.getContext("webgl2", { antialias: true, stencil: true, alpha: false });
    if (!gl) throw new Error("This browser does not offer WebGL 2, which this page draws with.");
    Object.assign(this, { canvas, gl, scene, dark: window.matchMedia("(prefers-color-scheme: dark)") });
    this.mesh = this.program(MESH, LIT);
    this.tube = this.program(TUBE, LIT);
    this.ground = this.program(GROUND, SQUARES);
    const size = Math.hypot(...LIGHT);
    this.light = LIGHT.map((x) => x / size);
    this.meshes = scene.meshes.map((mesh, index) => this.upload(mesh, index));
    this.meshes.sort((a, b) => b.colour[3] - a.colour[3]);  // what is seen through comes last
    this.tubes = scene.tubes.map((tube) => this.uploadTube(tube));
    this.square = this.vertices([[-1, -1], [1, -1], [-1, 1], [1, 1]].flat());
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    ["vertex", "normal", "from", "to"].forEach((name, place) => gl.bindAttribLocation(program, place, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const at = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const name = gl.getActiveUniform(program, i).name;
      at[name] = gl.getUniformLocation(program, name);
    }
    return { program, at };
  }

  buffer(array, kind = this.gl.ARRAY_BUFFER) {
    const buffer = this.gl.createBuffer();
    this.gl.bindBuffer(kind, buffer);
    this.gl.bufferData(kind, array, this.gl.STATIC_DRAW);
    return buffer;
  }

  vertices(numbers) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.buffer(new Float32Array(numbers));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    return array;
  }

  upload(mesh, index) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.buffer(mesh.vertices);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 8, 0);
    this.buffer(mesh.normals);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 3, gl.BYTE, true, 4, 0);
    this.buffer(mesh.faces, gl.ELEMENT_ARRAY_BUFFER);
    const kind = mesh.faces instanceof Uint16Array ? gl.UNSIGNED_SHORT : gl.UNSIGNED_INT;
    return { ...mesh, array, kind, count: mesh.faces.length, index };
  }

  uploadTube(tube) {
    const gl = this.gl, array = gl.createVertexArray(), sides = 10, numbers = [];
    for (let i = 0; i <= sides; i++) {
      const a = 2 * Math.PI * i / sides;
      numbers.push(Math.cos(a), Math.sin(a), 0, Math.cos(a), Math.sin(a), 1);
    }
    gl.bindVertexArray(array);
    this.buffer(new Float32Array(numbers));
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    const points = this.buffer(new Float32Array(3 * tube.points));
    const first = 12 * (tube.first || 0), every = 12 * (tube.every || 1);
    for (const [place, offset] of [[2, first], [3, first + 12]]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, every, offset);
      gl.vertexAttribDivisor(place, 1);
    }
    return { ...tube, array, buffer: points, corners: 2 * sides + 2 };
  }

  // Where all is at a time: each body's place and turn, each tube's points.
  update(frame, share) {
    const gl = this.gl, { frames, moving, still } = this.scene;
    if (!this.poses) {
      this.poses = moving.map((part) => ({ place: new Float32Array(3), turn: new Float32Array([0, 0, 0, 1]) }));
    }
    moving.forEach((part, i) => {
      if (!part.poses) return;
      places(part, frame, share, frames, this.poses[i].place);
      turn(part, frame, share, frames, this.poses[i].turn);
    });
    for (const tube of this.tubes) {
      const part = moving[tube.part];
      tube.segments = tube.every ? tube.points / tube.every : tube.points - 1;  // single ones, or all in a row
      if (tube.trail) {  // so much of the way as has been gone
        if (!tube.written) {
          tube.written = new Float32Array(3 * frames);
          for (let i = 0; i < frames; i++) places(part, i, 0, frames, tube.written.subarray(3 * i, 3 * i + 3));
          gl.bindBuffer(gl.ARRAY_BUFFER, tube.buffer);
          gl.bufferData(gl.ARRAY_BUFFER, tube.written, gl.STATIC_DRAW);
        }
        tube.segments = Math.min(frame, frames - 1);
      } else {
        tube.written = tube.written || new Float32Array(3 * tube.points);
        places(part, frame, share, frames, tube.written);
        gl.bindBuffer(gl.ARRAY_BUFFER, tube.buffer);
        gl.bufferData(gl.ARRAY_BUFFER, tube.written, gl.DYNAMIC_DRAW);
      }
    }
  }

  fit() {
    const { canvas, gl } = this, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    gl.viewport(0, 0, width, height);
    return ratio;
  }

  draw(camera) {
    const gl = this.gl, scene = this.scene, dark = this.dark.matches;
    this.fit();
    const matrix = camera.matrix(this.canvas.width, this.canvas.height);
    gl.clearColor(...(dark ? [0.086, 0.098, 0.118] : [0.933, 0.945, 0.961]), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthRange(0.01, 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    if (scene.ground !== null) {
      gl.depthMask(false);
      this.squares(matrix, dark);
      gl.disable(gl.DEPTH_TEST);  // the ground hides nothing, and nothing is below it that throws a shadow
      gl.enable(gl.STENCIL_TEST);  // a place is in the shadow once, however many bodies are above it
      gl.stencilFunc(gl.EQUAL, 0, 255);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      if (camera.eye()[2] > scene.ground) this.bodies(matrix, camera, [0.1, 0.11, 0.13, dark ? 0.45 : 0.16]);
      gl.disable(gl.STENCIL_TEST);
      gl.enable(gl.DEPTH_TEST);
      gl.depthMask(true);
    }
    this.bodies(matrix, camera, null);
  }

  squares(matrix, dark) {
    const gl = this.gl, scene = this.scene, { program, at } = this.ground;
    gl.useProgram(program);
    gl.uniformMatrix4fv(at.camera, false, matrix);
    gl.uniform3f(at.middle, scene.centre[0], scene.centre[1], scene.ground);
    gl.uniform1f(at.reach, 5 * scene.size);
    gl.uniform1f(at.square, scene.square);
    gl.uniform3fv(at.line, dark ? [0.33, 0.36, 0.4] : [0.68, 0.71, 0.75]);
    gl.bindVertexArray(this.square);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  // All bodies: as they are, as shadows of one colour, or each in a colour that says which it is.
  bodies(matrix, camera, colour, naming = false) {
    const gl = this.gl, scene = this.scene, light = this.light;
    const shadow = [...light, colour && !naming ? scene.ground : 1e30];
    for (const { program, at } of [this.mesh, this.tube]) {
      gl.useProgram(program);
      gl.uniformMatrix4fv(at.camera, false, matrix);
      gl.uniform4fv(at.shadow, shadow);
      gl.uniform3fv(at.light, light);
      gl.uniform3fv(at.eye, camera.eye());
      gl.uniform1i(at.plain, naming || colour !== null);
    }
    const ink = (thing, part) => naming ? [((part + 1) & 255) / 255, ((part + 1) >> 8) / 255, 0, 1] : colour || thing.colour;
    gl.useProgram(this.mesh.program);
    const at = this.mesh.at;
    for (const mesh of this.meshes) {
      const pose = this.poses[mesh.part];
      gl.uniform3fv(at.low, mesh.low);
      gl.uniform3fv(at.size, mesh.size);
      gl.uniform3fv(at.place, pose.place);
      gl.uniform4fv(at.turn, pose.turn);
      gl.uniform4fv(at.colour, ink(mesh, mesh.part));
      gl.bindVertexArray(mesh.array);
      gl.drawElements(gl.TRIANGLES, mesh.count, mesh.kind, 0);
    }
    gl.useProgram(this.tube.program);
    for (const tube of this.tubes) {
      if (tube.trail ? naming || colour : tube.every && colour && !naming) continue;
      if (tube.every) gl.depthRange(0, 0.01);  // arrows are seen through bodies
      gl.uniform1f(this.tube.at.radius, tube.radius);
      gl.uniform1i(this.tube.at.taper, tube.taper ? 1 : 0);
      gl.uniform4fv(this.tube.at.colour, ink(tube, tube.part));
      gl.bindVertexArray(tube.array);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, tube.corners, tube.segments);
      gl.depthRange(0.01, 1);
    }
  }

  // The name of what is seen at a place of the page, or null.
  named(camera, x, y) {
    const part = this.seen(camera, x, y);
    return part < 0 ? null : this.scene.moving[part].name;
  }

  // Which part that is; -1 for none.
  seen(camera, x, y) {
    const gl = this.gl, ratio = this.fit(), { width, height } = this.canvas;
    if (!this.names || this.names.width !== width || this.names.height !== height) this.names = this.offscreen(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.names.frame);
    const px = Math.round(x * ratio), py = height - 1 - Math.round(y * ratio), pixel = new Uint8Array(4);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(px, py, 1, 1);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    this.bodies(camera.matrix(width, height), camera, [0, 0, 0, 1], true);
    gl.readPixels(px, py, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const part = pixel[0] + 256 * pixel[1] - 1;
    return part;
  }

  offscreen(width, height) {
    const gl = this.gl, frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    for (const [kind, place] of [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT16, gl.DEPTH_ATTACHMENT]]) {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, kind, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
    }
    return { frame, width, height };
  }
}
