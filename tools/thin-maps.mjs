/**
 * Makes source maps small: they keep where each source line begins in the bundle, and no more. A stack trace names file and
 * line as before; its column is always the first.
 */

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const values = new Map([...digits].map((digit, value) => [digit, value]));

/**
 * @param {string} text a source map (https://tc39.es/ecma426/)
 * @returns {string}
 */
export function thinMap(text) {
  const map = JSON.parse(text);
  return JSON.stringify({ ...map, names: [], mappings: thinMappings(map.mappings) });
}

/** @param {string} mappings */
export function thinMappings(mappings) {
  // All but the generated column are relative to the segment before, over all lines.
  const at = [0, 0, 0];
  let kept = [0, 0, 0];
  const lines = mappings.split(';').map((line) => {
    let column = 0;
    let keptColumn = 0;
    let isFirst = true;
    const segments = [];
    for (const segment of line === '' ? [] : line.split(',')) {
      const [byColumn, ...by] = decode(segment);
      column += byColumn;
      if (by.length < 3) continue;
      for (const index of [0, 1]) at[index] += by[index];
      if (!isFirst && at[0] === kept[0] && at[1] === kept[1]) continue;
      segments.push(encode([column - keptColumn, ...at.map((value, index) => value - kept[index])]));
      kept = [...at];
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
