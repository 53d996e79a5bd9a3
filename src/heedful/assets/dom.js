// Elements by hand. Text from anywhere enters as text, never as markup.

const CLASS = "class";

/** `make("p", {class: "soft", onclick: f}, "text", child)` */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === CLASS) element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A word of somebody's text, kept from turning around what stands beside it. */
export function word(text, attributes = {}) {
  const element = make("bdi", attributes);
  element.textContent = text;
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

/** A select of [value, label] pairs. */
export function choice(label, options, chosen, onchange, disabled = false) {
  const select = make("select", { disabled });
  for (const [value, text] of options) {
    const option = make("option", { value });
    option.textContent = text;
    option.selected = String(value) === String(chosen);
    select.append(option);
  }
  select.addEventListener("change", () => onchange(select.value));
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

export function button(label, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, label);
}
