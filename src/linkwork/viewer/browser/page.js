// What the page does besides viser's: the name of the body under the mouse appears beside it, and arrows are seen through
// bodies. viser tells of clicks and not of where the mouse rests, so the page looks itself: along the ray from the camera
// through the mouse, for the nearest triangle of a body.

(() => {
  const label = document.createElement("div");
  label.id = "linkwork-name";
  label.hidden = true;
  label.style.cssText = "position: fixed; z-index: 1000; padding: 2px 8px; border-radius: 6px; pointer-events: none; "
    + "background: rgba(255, 255, 255, 0.9); color: #23272e; border: 1px solid #c6ccd4; white-space: nowrap; "
    + "font: 14px/1.4 system-ui, -apple-system, 'Segoe UI', sans-serif";
  document.body.append(label);
  let mouse = null;

  // How far along a ray, from o toward d (both in the mesh's own axes), the nearest triangle is.
  function distance(geometry, o, d) {
    const { center, radius } = geometry.boundingSphere;
    const c = [center.x - o[0], center.y - o[1], center.z - o[2]], along = dot(c, d);
    if (dot(c, c) - along * along > radius * radius) return Infinity;
    const p = geometry.attributes.position.array, faces = geometry.index.array;
    let nearest = Infinity;
    for (let i = 0; i < faces.length; i += 3) {
      const a = 3 * faces[i], b = 3 * faces[i + 1], e = 3 * faces[i + 2];
      const u = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]];
      const v = [p[e] - p[a], p[e + 1] - p[a + 1], p[e + 2] - p[a + 2]];
      const h = cross(d, v), det = dot(u, h);
      if (det === 0) continue;
      const s = [o[0] - p[a], o[1] - p[a + 1], o[2] - p[a + 2]], x = dot(s, h) / det;
      if (x < 0 || x > 1) continue;
      const k = cross(s, u), y = dot(d, k) / det, t = dot(v, k) / det;
      if (y >= 0 && x + y <= 1 && t > 0 && t < nearest) nearest = t;
    }
    return nearest;
  }

  const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  const cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];

  function named(x, y) {
    const { camera, canvas, nodeRefFromName: nodes } = window.__viserMutable;
    const frame = canvas.getBoundingClientRect();
    const eye = camera.position.clone().setFromMatrixPosition(camera.matrixWorld);
    const through = eye.clone().set(2 * (x - frame.left) / frame.width - 1, 1 - 2 * (y - frame.top) / frame.height, 0.5);
    const ray = through.unproject(camera).sub(eye).normalize();
    let nearest = Infinity, name = null;
    for (const path in nodes) {
      const [, mechanism, body] = path.match(/^\/(\d+)\/(\d+)\/body\d+$/) || [];
      if (body === undefined) continue;
      nodes[path]?.traverseVisible((mesh) => {
        if (!mesh.isMesh || !mesh.geometry.index || !mesh.geometry.boundingSphere) return;
        const back = mesh.matrixWorld.clone().invert();
        const far = distance(mesh.geometry, eye.clone().applyMatrix4(back).toArray(),
          ray.clone().transformDirection(back).toArray());
        if (far < nearest) [nearest, name] = [far, NAMES[mechanism][body]];
      });
    }
    return name;
  }

  // Arrows are drawn last, and hidden by nothing.
  function bare({ nodeRefFromName: nodes, requestRender }) {
    for (const path in nodes) {
      if (!/^\/\d+\/[a-z]+ forces$/.test(path)) continue;
      nodes[path]?.traverse((mesh) => {
        if (!mesh.isMesh || mesh.renderOrder) return;
        mesh.material.depthTest = false;
        mesh.renderOrder = 1;
        requestRender();
      });
    }
  }

  function look() {
    if (!window.__viserMutable) return;
    bare(window.__viserMutable);
    const { canvas } = window.__viserMutable;
    const found = mouse && mouse.target === canvas && !mouse.buttons ? named(mouse.clientX, mouse.clientY) : null;
    label.hidden = !found;
    if (!found) return;
    label.textContent = found;
    label.style.left = `${mouse.clientX + 14}px`;
    label.style.top = `${mouse.clientY + 10}px`;
  }

  for (const kind of ["pointermove", "pointerdown", "pointerup"]) {
    window.addEventListener(kind, (event) => { mouse = event; }, true);
  }
  document.documentElement.addEventListener("pointerleave", () => { mouse = null; });
  setInterval(look, 80);  // bodies move under a mouse that rests, too
})();
