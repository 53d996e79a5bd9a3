// Every layer and head of a few texts, unpacked when a reader comes near.

import { blob } from "./blobs.js";
import { choice, fill, make } from "./dom.js";
import { HeadView } from "./heads.js";
import { whenNear } from "./near.js";

export function startHeads(root) {
  whenNear(root.querySelectorAll("[data-heads]"), start);
}

async function start(place) {
  const views = await blob(place.dataset.heads);
  const shown = make("div");
  let view = null;
  const show = (number) => {
    view = new HeadView(views[number].data, view);
    fill(shown, view.element);
  };
  const names = views.map((each, number) =>
    [number, each.why ? `${each.example}: ${each.why}` : each.example]);
  fill(place, views.length > 1
    ? make("div", { class: "tools" }, choice("Text", names, 0, (number) => show(Number(number)))) : null, shown);
  show(0);
}
