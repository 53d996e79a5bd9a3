// Light, dark, or as the system has it. It runs before anything is drawn, so that nothing flashes;
// what was chosen is remembered in this browser.

import { choice, fill } from "./dom.js";

const KEY = "heedful-theme";
const THEMES = [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]];
const MEDIA = { light: "not all", dark: "screen" }; // paper stays white
const DARK = "(prefers-color-scheme: dark)";

/** Rules that the system's preference turns on; a choice turns them on or off instead. */
const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
  .filter((rule) => rule instanceof CSSMediaRule && rule.media.mediaText === DARK);

function wear(theme) {
  for (const rule of rules) rule.media.mediaText = MEDIA[theme] ?? DARK;
  document.querySelector("meta[name=color-scheme]").content = theme in MEDIA ? theme : "light dark";
}

function remembered() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto"; // a page inside another page may have no memory
  }
}

function choose(theme) {
  wear(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // it holds until the page is left
  }
}

wear(remembered());
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".theme")) {
    fill(place, choice("Theme", THEMES, remembered(), choose));
  }
});
