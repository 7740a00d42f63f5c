/**
 * Pages with hand-written and generated parts. A generated part is between two comments that the page does not show:
 *
 *     <!-- generated: NAME -->
 *     …
 *     <!-- end -->
 */

const section = /<!-- generated: ([^\n]+?) -->\n[\s\S]*?<!-- end -->/g;

/** The page with every part generated again. Throws an Error when page and `parts` do not name the same parts. */
export function withSections(page: string, parts: ReadonlyMap<string, string>): string {
  const unused = new Set(parts.keys());
  const filled = page.replace(section, (_, name: string) => {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`the page asks for "${name}", which nothing makes`);
    unused.delete(name);
    return `<!-- generated: ${name} -->\n${part.trimEnd()}\n<!-- end -->`;
  });
  if (unused.size > 0) throw new Error(`the page has no place for ${[...unused].join(', ')}`);
  return filled;
}

/** A Markdown table. Bars inside cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return `\`${text}\``;
}
