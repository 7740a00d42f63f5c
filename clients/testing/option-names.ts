/** Refuses options that do not exist: tests in JavaScript have no compiler that finds a misspelt one. */

/** Every name once: the compiler reports a missing one. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>;

/** Throws a TypeError that names the option and the known ones. */
export function checkNames<T extends object>(of: string, options: T, names: OptionNames<T>): void {
  const listed = Object.keys(names).join(', ');
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`the options of ${of} must be an object with ${listed}`);
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) throw new TypeError(`${of} has no option ${unknown}; one of ${listed}`);
}
