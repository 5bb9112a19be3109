// The scene: what the page was written with, unpacked.

async function unpack(text) {
  const packed = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

async function readScene() {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const bytes = await unpack(document.getElementById("numbers").textContent);
  document.getElementById("numbers").textContent = "";
  const kinds = { i8: Int8Array, i16: Int16Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };
  const array = ([kind, offset, count]) => new kinds[kind](bytes, offset, count);
  for (const mesh of scene.meshes) {
    for (const name of ["vertices", "normals", "faces"]) mesh[name] = array(mesh[name]);
  }
  for (const part of scene.moving) part.track = track(array(part.track), scene.frames);
  return scene;
}

// Numbers over time are kept as what is added from picture to picture, modulo 2^16.
function track(numbers, frames) {
  const width = numbers.length / frames;
  for (let i = width; i < numbers.length; i++) numbers[i] += numbers[i - width];
  return numbers;
}

// Places (3 numbers each) at a picture and a share of the way to the next.
function places(part, frame, share, frames, to) {
  const { track, low, step } = part, width = track.length / frames;
  const a = frame * width, b = Math.min(frame + 1, frames - 1) * width;
  const points = part.poses ? 1 : width / 3;
  for (let i = 0; i < 3 * points; i++) {
    const k = i % 3;
    to[i] = low[k] + step[k] * ((1 - share) * track[a + i] + share * track[b + i] + 32768);
  }
  return to;
}

// The unit quaternion (x, y, z, w) there.
function turn(part, frame, share, frames, to) {
  const { track } = part, width = track.length / frames;
  const a = frame * width + 3, b = Math.min(frame + 1, frames - 1) * width + 3;
  let size = 0;
  for (let i = 0; i < 4; i++) {
    to[i] = (1 - share) * track[a + i] + share * track[b + i];
    size += to[i] * to[i];
  }
  size = Math.sqrt(size) || 1;
  for (let i = 0; i < 4; i++) to[i] /= size;
  return to;
}
