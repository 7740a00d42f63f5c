/** The pages of several runs as a list: what failed stands first. */
import type { Run } from '../../../scenarios/runner/world.ts';
import { verdictInWords } from '../verdict.ts';
import { html, htmlDocument } from './document.ts';
import { styles } from './styles.ts';

export interface RunPage {
  readonly run: Run;
  /** Beside the list. */
  readonly file: string;
}

export function indexPage(pages: readonly RunPage[]): string {
  const failed = pages.filter(({ run }) => run.verdict.kind !== 'passed');
  const passed = pages.filter(({ run }) => run.verdict.kind === 'passed');
  const title = `${passed.length} of ${pages.length} scenarios passed`;
  const items = [...failed, ...passed].map(({ run, file }) => {
    const { kind, sentence, cause } = verdictInWords(run.verdict);
    return `<li class="verdict ${kind}"><a href="${html(encodeURIComponent(file))}"><strong>${html(run.scenario)}</strong></a> <span class="quiet">${html(run.world)}, seed ${html(run.seed)}</span><p>${html(sentence)}</p><p class="quiet">${html(cause)}</p></li>`;
  });
  return htmlDocument({
    title,
    styles,
    body: `<header><div><h1>${html(title)}</h1><ul>${items.join('\n')}</ul></div></header>`,
  });
}
