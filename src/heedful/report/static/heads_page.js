// The entry of a page that shows a head view and nothing else.

import { blob } from "./blobs.js";
import { HeadView } from "./heads.js";

async function start() {
  const view = new HeadView(await blob("heads"));
  document.getElementById("heads").replaceChildren(view.element);
}

start();
