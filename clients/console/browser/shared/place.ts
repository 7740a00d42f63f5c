/** Where the reader is, in the address's fragment: `#/ceremonies/sig_1`, `#/cluster?process=node/2`. No token is ever in it. */

export const panels = [
  'cluster',
  'ceremonies',
  'requests',
  'webhooks',
  'faults',
  'load',
  'wallets',
  'time',
  'tenants',
] as const;
export type Panel = (typeof panels)[number];

export interface ConsolePlace {
  readonly panel: Panel;
  /** Of the panel: the open session, the chosen process, a request, an endpoint, the chosen kind of fault; empty: none. */
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

/** Where an id is shown: of what has a panel there; of anything else that has events among them. */
export function placeOfId(text: string): ConsolePlace {
  const id = text.trim();
  const at = (panel: Panel, more: Partial<ConsolePlace>): ConsolePlace => ({ ...firstPlace, panel, ...more });
  if (/^(wal|txi)_/.test(id)) return at('wallets', { chosen: id });
  if (/^flt_/.test(id)) return at('faults', { words: id });
  if (/^req_/.test(id)) return at('requests', { words: id });
  if (/^(gateway|coordinator|worker|redis|(cluster\/\d+\/)?(node\/\d+|coordinator))$/.test(id))
    return at('cluster', { chosen: id });
  if (/^whk_/.test(id)) return at('webhooks', { chosen: id });
  if (ofEvents.test(id)) return at('webhooks', { words: id });
  if (/^tn_/.test(id)) return at('ceremonies', { words: id });
  return at('ceremonies', /^(sig|dkg|vky)_/.test(id) ? { chosen: id } : { words: id });
}

/** Events, deliveries, and what the companion modules and custody name in them (proto/ids.ts). */
const ofEvents = /^(evt|dlv|cor|pcn|tkn|ord|pol|dec|scr|rep|lst|rul|rsk|vlt|acr|stg|pln|rcj|rcx|rcd)_/;

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
