/** Refuses an older Node.js with a sentence: without it, the first module that is missing there would be a SyntaxError of a bundle. */

/** Of `engines` in package.json. */
export const nodeNeeded = [20, 19] as const;

/** Throws an Error that names both versions. */
export function needNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > nodeNeeded[0] || (major === nodeNeeded[0] && minor >= nodeNeeded[1])) return;
  throw new Error(`signmesh/testing needs Node.js ${nodeNeeded.join('.')} or newer; this is ${version}`);
}
