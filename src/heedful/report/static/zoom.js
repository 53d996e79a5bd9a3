// Pan and zoom: the ranges of both axes are signals that a view listens to.

const AXES = ["x", "y"];

/** Compiled Vega whose axes can be moved, with marks that end at the frame; the same as it was
 *  where not both are numbers. */
export function zooming(vega) {
  const linear = (vega.scales ?? []).filter((scale) => AXES.includes(scale.name) && scale.type === "linear");
  if (linear.length < AXES.length) return vega;
  for (const scale of linear) scale.domainRaw = { signal: `zoom_${scale.name}` };
  const signals = AXES.map((axis) => ({ name: `zoom_${axis}`, value: null }));
  (vega.marks ?? []).forEach(clip);
  return { ...vega, signals: [...(vega.signals ?? []), ...signals] };
}

/** By a factor (below 1 is nearer) around a place in the plot, or its middle. */
export function zoom(view, factor, at = null) {
  const here = at ?? { x: view.signal("width") / 2, y: view.signal("height") / 2 };
  for (const axis of AXES) {
    const scale = view.scale(axis);
    const middle = scale.invert(here[axis]);
    view.signal(`zoom_${axis}`, scale.domain().map((end) => middle + factor * (end - middle)));
  }
  return view.runAsync();
}

export function reset(view) {
  for (const axis of AXES) view.signal(`zoom_${axis}`, null);
  return view.runAsync();
}

/** Listen to the wheel and to dragging. */
export function follow(view, place) {
  place.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(view, 1.0015 ** Math.max(-300, Math.min(300, event.deltaY)), pointIn(place, event));
  }, { passive: false });
  place.addEventListener("dblclick", () => reset(view));
  place.addEventListener("pointerdown", (event) => drag(view, place, event));
}

function drag(view, place, event) {
  if (event.button !== 0) return;
  const start = pointIn(place, event);
  const scales = AXES.map((axis) => [axis, view.scale(axis).copy()]);
  place.setPointerCapture(event.pointerId);
  const move = (now) => {
    const here = pointIn(place, now);
    for (const [axis, scale] of scales) {
      const by = scale.invert(start[axis]) - scale.invert(here[axis]);
      view.signal(`zoom_${axis}`, scale.domain().map((end) => end + by));
    }
    view.runAsync();
  };
  const stop = () => {
    place.removeEventListener("pointermove", move);
    place.removeEventListener("pointerup", stop);
    place.removeEventListener("pointercancel", stop);
  };
  place.addEventListener("pointermove", move);
  place.addEventListener("pointerup", stop);
  place.addEventListener("pointercancel", stop);
}

/** The pointer in the plot's own pixels, however large it is shown. */
function pointIn(place, event) {
  const matrix = place.querySelector(".role-frame.root path.background").getScreenCTM();
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
}

/** Words beside the frame stay. */
function clip(mark) {
  if (mark.type !== "text" && mark.type !== "group") mark.clip = true;
  (mark.marks ?? []).forEach(clip);
}
