/**
 * Makes source maps small: they keep where each line of our own sources begins in the bundle, and no more. A stack trace names
 * file and line as before; its column is always the first. A frame in a bundled package is shown where it is in the bundle.
 */

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Map([...digits].map((digit, value) => [digit, value]));

/**
 * @param {string} text a source map (https://tc39.es/ecma426/)
 * @returns {string}
 */
export function thinMap(text) {
  const map = JSON.parse(text);
  const sources = map.sources.filter(isOurs);
  const indexes = map.sources.map((source) => (isOurs(source) ? sources.indexOf(source) : undefined));
  return JSON.stringify({ ...map, names: [], sources, mappings: thinMappings(map.mappings, indexes) });
}

function isOurs(source) {
  return !/(^|\/)node_modules\//.test(source);
}

/**
 * @param {string} mappings
 * @param {readonly (number | undefined)[]} [indexes] what each source's index becomes; undefined: it is left out
 */
export function thinMappings(mappings, indexes) {
  // All but the generated column are relative to the segment before, over all lines.
  const at = [0, 0];
  let kept = [0, 0, 0];
  /** The last segment said that nothing is known from there on, over all lines. */
  let isUnknown = false;
  const lines = mappings.split(';').map((line) => {
    let column = 0;
    let keptColumn = 0;
    let isFirst = true;
    const segments = [];
    for (const segment of line === '' ? [] : line.split(',')) {
      const [byColumn, ...by] = decode(segment);
      column += byColumn;
      if (by.length < 3) continue;
      at[0] += by[0];
      at[1] += by[1];
      const source = indexes === undefined ? at[0] : indexes[at[0]];
      if (source === undefined) {
        if (isUnknown) continue;
        segments.push(encode([column - keptColumn]));
        isUnknown = true;
      } else {
        if (!isFirst && !isUnknown && source === kept[0] && at[1] === kept[1]) continue;
        const place = [source, at[1], 0];
        segments.push(encode([column - keptColumn, ...place.map((value, index) => value - kept[index])]));
        kept = place;
        isUnknown = false;
      }
      keptColumn = column;
      isFirst = false;
    }
    return segments.join(',');
  });
  return lines.join(';');
}

/** Base64 VLQ: five bits a digit, the lowest first; the lowest bit of a number is its sign. */
function decode(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = values.get(digit);
    value += (bits & 31) << shift;
    if (bits & 32) {
      shift += 5;
      continue;
    }
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encode(numbers) {
  return numbers
    .map((number) => {
      let text = '';
      let rest = number < 0 ? (-number << 1) | 1 : number << 1;
      do {
        const bits = rest & 31;
        rest >>>= 5;
        text += digits[rest > 0 ? bits | 32 : bits];
      } while (rest > 0);
      return text;
    })
    .join('');
}
