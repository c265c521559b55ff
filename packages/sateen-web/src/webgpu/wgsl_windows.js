/**
 * Buffers of WGSL that are larger than a binding may be: several bindings, between which each access chooses.
 *
 * This is written into a kernel where a device needs it, so that others lose nothing. In the text of a kernel a buffer
 * stands in these forms alone, where `place` is an i32:
 *
 *     X[place]    X[place] = word;    atomicLoad(&X[place])    atomicStore(&X[place], word);
 *     atomicCompareExchangeWeak(&X[place], old, next)
 */

const WORD = 4;
const VERBS = { atomicLoad: "load", atomicStore: "store", atomicCompareExchangeWeak: "swap" };
const SWAPPED = "struct sateen_swapped { old_value: u32, exchanged: bool }\n";

/**
 * The text of a kernel, in which the buffer `name` has more bindings of these numbers: each of `window` bytes, the last of
 * what is left.
 */
export function throughWindows(text, name, numbers, window) {
  const declaration = new RegExp(`^@group.+ var<storage, (\\w+)> ${name}: (.+);\\n`, "m").exec(text);
  const [line, access, type] = declaration;
  const windows = [name, ...numbers.map((_, i) => `sateen_window${i + 1}_${name}`)];
  const bindings = numbers.map(
    (number, i) => `@group(0) @binding(${number}) var<storage, ${access}> ${windows[i + 1]}: ${type};\n`,
  );
  const isAtomic = type.includes("atomic");
  const end = declaration.index + line.length;
  const functions = functionsOf(name, windows, window / WORD, { isWritten: access === "read_write", isAtomic });
  const swapped = isAtomic && !text.includes(SWAPPED) ? SWAPPED : "";
  return `${text.slice(0, end)}${bindings.join("")}${swapped}${functions}${byFunctions(text.slice(end), name)}`;
}

/** The text with calls of functions in place of accesses; what is innermost comes last and is replaced first. */
function byFunctions(text, name) {
  let made = text;
  const accesses = [...text.matchAll(new RegExp(`(?:(atomic\\w+)\\(&)?\\b${name}\\[`, "g"))];
  for (const { index, 0: opening, 1: atomic } of accesses.reverse()) {
    const begin = index + opening.length;
    const end = closing(made, begin);
    const [head, place, rest] = [made.slice(0, index), made.slice(begin, end), made.slice(end + 1)];
    if (atomic !== undefined) {
      made = `${head}sateen_${VERBS[atomic]}_${name}(${place}${rest}`;
    } else if (rest.startsWith(" = ")) {
      const stop = rest.indexOf(";\n");
      made = `${head}sateen_store_${name}(${place}, ${rest.slice(3, stop)})${rest.slice(stop)}`;
    } else {
      made = `${head}sateen_load_${name}(${place})${rest}`;
    }
  }
  return made;
}

/** Where the bracket is closed that stands open at a place. */
function closing(text, place) {
  let at = place;
  for (let depth = 1; depth > 0; at++) depth += text[at] === "[" ? 1 : text[at] === "]" ? -1 : 0;
  return at - 1;
}

function functionsOf(name, windows, words, { isWritten, isAtomic }) {
  /** A function that does some work on the word X of the window that has it. */
  const chosen = (verb, parameters, result, work) => {
    const lines = windows.map((one, i) => {
      const condition = i < windows.length - 1 ? `if (place < ${(i + 1) * words}) ` : "";
      return `  ${condition}{ ${work.replace("X", `${one}[place${i > 0 ? ` - ${i * words}` : ""}]`)} }\n`;
    });
    return `fn sateen_${verb}_${name}(place: i32${parameters})${result} {\n${lines.join("")}}\n`;
  };
  const made = [chosen("load", "", " -> u32", isAtomic ? "return atomicLoad(&X);" : "return X;")];
  if (isWritten) {
    made.push(chosen("store", ", word: u32", "", isAtomic ? "atomicStore(&X, word); return;" : "X = word; return;"));
  }
  if (isAtomic) {
    const seen = "let seen = atomicCompareExchangeWeak(&X, old, next);";
    const work = `${seen} return sateen_swapped(seen.old_value, seen.exchanged);`;
    made.push(chosen("swap", ", old: u32, next: u32", " -> sateen_swapped", work));
  }
  return made.join("");
}
