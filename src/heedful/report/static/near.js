// What waits until a reader comes near.

/** Calls `start` with each place, once, when it comes within `margin` of the window. */
export function whenNear(places, start, margin = "400px") {
  const watch = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      start(target);
    }
  }, { rootMargin: margin });
  for (const place of places) watch.observe(place);
}
