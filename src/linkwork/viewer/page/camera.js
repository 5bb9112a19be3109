// A camera on a sphere about a point, z upward. Matrices are column by column, as WebGL takes them.

const product = (a, b) => {
  const c = new Float32Array(16);
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 4; j++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + i] * b[4 * j + k];
      c[4 * j + i] = sum;
    }
  }
  return c;
};

class Camera {
  constructor(scene) {
    this.first = { azimuth: scene.view[0], elevation: scene.view[1], centre: scene.centre, distance: scene.distance };
    this.size = scene.size;
    this.home();
  }

  home() {
    Object.assign(this, this.first, { centre: [...this.first.centre] });
  }

  // Right, up and toward the camera.
  axes() {
    const a = this.azimuth * Math.PI / 180, e = this.elevation * Math.PI / 180;
    const [sa, ca, se, ce] = [Math.sin(a), Math.cos(a), Math.sin(e), Math.cos(e)];
    return [[-sa, ca, 0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]];
  }

  eye() {
    const toward = this.axes()[2];
    return this.centre.map((x, k) => x + this.distance * toward[k]);
  }

  matrix(width, height) {
    const [right, up, toward] = this.axes(), eye = this.eye();
    const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    const view = new Float32Array([
      right[0], up[0], toward[0], 0, right[1], up[1], toward[1], 0, right[2], up[2], toward[2], 0,
      -dot(right, eye), -dot(up, eye), -dot(toward, eye), 1,
    ]);
    const near = 0.01 * this.distance, far = this.distance + 60 * this.size;
    // A narrow picture shows as much to the sides as one of 4 to 3: all fits into any frame.
    const f = Math.min(1, 0.75 * width / height) / Math.tan(16 * Math.PI / 180);
    const lens = new Float32Array(16);
    lens[0] = f * height / width;
    lens[5] = f;
    lens[10] = -(far + near) / (far - near);
    lens[11] = -1;
    lens[14] = -2 * far * near / (far - near);
    return product(lens, view);
  }

  turn(right, down) {
    this.azimuth -= 0.3 * right;
    this.elevation = Math.max(-89, Math.min(89, this.elevation + 0.3 * down));
  }

  move(right, down, height) {
    const [x, y] = this.axes(), metres = 2 * this.distance * Math.tan(16 * Math.PI / 180) / height;
    for (let k = 0; k < 3; k++) this.centre[k] += metres * (down * y[k] - right * x[k]);
  }

  zoom(factor) {
    this.distance = Math.max(0.05 * this.size, Math.min(40 * this.size, this.distance * factor));
  }
}
