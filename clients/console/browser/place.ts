/** Where the reader is, in the address's fragment: `#/ceremonies/sig_1`, `#/cluster?process=node/2`. No token is ever in it. */

export const panels = ['cluster', 'ceremonies', 'requests', 'faults'] as const;
export type Panel = (typeof panels)[number];

export interface ConsolePlace {
  readonly panel: Panel;
  /** Of the panel: the open session, the chosen process, a request, the chosen kind of fault; empty: none. */
  readonly chosen: string;
  /** What the list is searched for. */
  readonly words: string;
}

export const firstPlace: ConsolePlace = { panel: 'cluster', chosen: '', words: '' };

/** A fragment that names no panel is the first place. */
export function placeOf(fragment: string): ConsolePlace {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?', 2);
  const [panel = '', ...rest] = path.split('/').map(decoded);
  if (!(panels as readonly string[]).includes(panel)) return firstPlace;
  return { panel: panel as Panel, chosen: rest.join('/'), words: new URLSearchParams(query).get('q') ?? '' };
}

export function fragmentOf({ panel, chosen, words }: ConsolePlace): string {
  const path = [panel, ...(chosen === '' ? [] : [chosen])].map(encodeURIComponent).join('/');
  return `#/${path}${words === '' ? '' : `?${new URLSearchParams({ q: words })}`}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
