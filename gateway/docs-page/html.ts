/** Markup as tagged templates: every text in them is escaped, so that no document and no token can end an element. */
import { escaped } from '../../core/pages/markup.ts';

export interface Markup {
  readonly markup: string;
}

type Part = Markup | readonly Markup[] | string | number | undefined;

/** Texts become text; markup stays; undefined is nothing. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { markup: texts.map((text, index) => text + written(parts[index])).join('') };
}

export const nothing: Markup = { markup: '' };

/** Descriptions of the document know `code` and **strong**. */
export function described(text: string | undefined): Markup {
  if (text === undefined || text === '') return nothing;
  const markup = escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
  return { markup };
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part));
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
}
