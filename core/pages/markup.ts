const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Text for markup: it can neither end an element nor an attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character]!);
}
