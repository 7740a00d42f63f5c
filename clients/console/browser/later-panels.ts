/**
 * The panels beside the first: the script of each is loaded when it is opened. Where one does not load, the page says so and loads
 * itself again as soon as the service answers: a browser does not repeat an import that failed, and another version of the service
 * has other scripts. Runs in the browser.
 */
import type { ConsoleContext } from './shared/context.ts';
import type { ConsoleBrowser } from './shared/dom.ts';
import { type Panel, placeOf } from './shared/place.ts';
import { h, type Node } from './shared/ui.ts';

export type DrawPanel = (context: ConsoleContext) => Node;
export type LaterPanel = Exclude<Panel, 'cluster'>;

const againMs = 2_000;

/** `loads`: the import of each. The result draws a panel, or says what it waits for. */
export function laterPanels(
  page: Pick<ConsoleBrowser, 'fetch' | 'setTimeout' | 'location'>,
  loads: Readonly<Record<LaterPanel, () => Promise<DrawPanel>>>,
  changed: () => void,
): (panel: LaterPanel, context: ConsoleContext) => Node {
  const loaded = new Map<Panel, DrawPanel | 'loading' | 'failed'>();
  let isWaiting = false;
  const reloadLater = (): void => {
    if (isWaiting) return;
    isWaiting = true;
    page.setTimeout(async () => {
      isWaiting = false;
      // The reader looks at something else.
      if (loaded.get(placeOf(page.location.hash).panel) !== 'failed') return;
      const answers = await page.fetch('/').then(
        ({ ok }) => ok,
        () => false,
      );
      if (answers) page.location.reload();
      else reloadLater();
    }, againMs);
  };
  const load = async (panel: LaterPanel): Promise<void> => {
    loaded.set(panel, 'loading');
    try {
      loaded.set(panel, await loads[panel]());
    } catch {
      loaded.set(panel, 'failed');
    }
    changed();
  };
  return (panel, context) => {
    const state = loaded.get(panel);
    if (state === undefined) void load(panel);
    if (typeof state === 'function') return state(context);
    if (state !== 'failed') return h('p', { class: 'quiet waiting' }, 'Loading the panel …');
    reloadLater();
    return h(
      'p',
      { class: 'notice bad', role: 'alert' },
      'The script of this panel did not load. The page tries again: it loads itself anew as soon as the service answers.',
    );
  };
}
