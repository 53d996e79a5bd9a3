// Names of sites are those of modules, and long: what they share is left out where it is shown.

/** From each name to a short one: `encoder.layer.3.attention.self` to `layer 3`. */
export function shortened(names) {
  if (names.length < 2) return new Map(names.map((name) => [name, name]));
  const parts = names.map((name) => name.split("."));
  const front = shared(parts);
  const back = shared(parts.map((part) => part.slice(front).reverse()));
  return new Map(names.map((name, index) => {
    const left = parts[index].slice(front, parts[index].length - back).join(".");
    return [name, /^\d+$/.test(left) ? `layer ${left}` : left || name];
  }));
}

/** How many of the first parts are the same in all. */
function shared(lists) {
  const shortest = Math.min(...lists.map((list) => list.length));
  let count = 0;
  while (count < shortest && lists.every((list) => list[count] === lists[0][count])) count += 1;
  return count;
}
