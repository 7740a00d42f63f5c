/** One word of a POSIX shell: between single quotes nothing is special but their end. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
