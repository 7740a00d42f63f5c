/** Recognizes a command on a key whose value is of another Redis type than signmesh writes there: something else replaced it. */

/** Also for an error of a script, whose text quotes that of its command. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && /\bWRONGTYPE\b/.test(error.message);
}
