/** The page as a whole: its state, its connection and its token; shell.ts draws it. Runs in the browser, which is passed in. */

import { pageReadsHeader } from '../../../core/pages/page-reads.ts';
import { tokenEntry } from '../../../core/pages/token-entry.ts';
import { ApiError, type Client } from '../../client/index.ts';
import type { Browser } from '../../report/html/browser/dom.ts';
import { sessionOf } from './ceremonies/ceremonies.ts';
import type { OpenSession } from './ceremonies/open-session.ts';
import { sessionEvents } from './ceremonies/session-events.ts';
import { sessionReads } from './ceremonies/session-reads.ts';
import type { SessionViews } from './ceremonies/session-view.ts';
import { clusterPanel } from './cluster/cluster-panel.ts';
import { makePassing } from './cluster/passing.ts';
import { pictureOf } from './cluster/picture.ts';
import { drawPace } from './draw-pace.ts';
import { laterPanels } from './later-panels.ts';
import { requestReads } from './requests/request-reads.ts';
import { recordRequests } from './shared/console-requests.ts';
import type { ConsoleContext, Follow, FollowedData, MadeCall, Words } from './shared/context.ts';
import type { ConsoleBrowser } from './shared/dom.ts';
import { firstPlace, fragmentOf, placeOf } from './shared/place.ts';
import { render } from './shared/preact.mjs';
import { keyOf, makeStore } from './shared/store.ts';
import { followStream } from './shared/stream.ts';
import { makeTenants, pageClient, type Tenants } from './shared/tenants.ts';
import type { Node } from './shared/ui.ts';
import { panelNames, shell } from './shell.ts';

const madeMax = 20;

interface Followed {
  readonly follow: unknown;
  readonly client: Client;
  readonly beganAt: unknown;
  readonly data: FollowedData;
}

export function startConsole(page: ConsoleBrowser): void {
  const { document, location, sessionStorage } = page;
  const meta = (name: string) => document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
  const root = document.getElementById('console')!;
  const store = makeStore(() => page.performance.now());
  let token = sessionStorage.getItem(tokenEntry) ?? meta('signmesh-token');
  let place = placeOf(page.location.hash);
  let words: Words | undefined;
  let said = '';
  let made: readonly MadeCall[] = [];
  let stop = (): void => undefined;
  let picture = pictureOf([]);
  let pictured: unknown;
  const passing = makePassing(page);
  let open: OpenSession | undefined;
  let followed: Followed | undefined;

  const ownRequests = recordRequests(page, () => tenants.held);
  const acting = { location, sessionStorage, fetch: ownRequests.fetch };
  const client = pageClient(acting, () => token);
  const { soon: changed, atOnce } = drawPace(page, () => draw());
  const tenants: Tenants = makeTenants(
    acting,
    client,
    () => token,
    () => {
      void open?.refresh();
      changed();
    },
  );
  let reads = sessionReads(page, tenants.clientOf, store, changed);
  let requests = requestReads(tenants, store, changed);
  const go: ConsoleContext['go'] = (to) => {
    const before = place;
    place = to.panel === undefined || to.panel === place.panel ? { ...place, ...to } : { ...firstPlace, ...to };
    // A search is no step to go back to.
    const isSearch = before.panel === place.panel && before.chosen === place.chosen;
    if (isSearch) page.history.replaceState(null, '', fragmentOf(place));
    else page.location.hash = fragmentOf(place);
    if (before.words !== place.words) open?.narrow();
    atOnce();
  };
  const announce = (text: string) => {
    said = text;
    changed();
  };
  const perform: ConsoleContext['perform'] = async (call, send) => {
    const entry: MadeCall = { call, outcome: undefined };
    made = [...made, entry].slice(-madeMax);
    atOnce();
    try {
      const result = await send();
      entry.outcome = { isGood: true, text: typeof result === 'string' ? result : 'done' };
    } catch (error) {
      entry.outcome = { isGood: false, text: problemOf(error) };
    }
    announce(`${call.title}: ${entry.outcome.text}`);
    return entry.outcome.isGood;
  };
  const ask = async <T>(path: string): Promise<T> => {
    const response = await page.fetch(path, { headers: { authorization: `Bearer ${token}`, [pageReadsHeader]: '1' } });
    if (!response.ok) throw new Error(`${path.split('?')[0]} answers ${response.status}`);
    return (await response.json()) as T;
  };
  const resend: ConsoleContext['resend'] = async ({ method, path, body, headers = {} }) => {
    const response = await ownRequests.fetch(path, {
      method,
      headers: {
        authorization: `Bearer ${tenants.acting?.token ?? token}`,
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = response.headers.get('content-type')?.startsWith('application/json') ? await response.text() : '';
    const { error } = (text === '' ? {} : JSON.parse(text)) as { readonly error?: { readonly message: string } };
    if (!response.ok) throw new Error(`${response.status}: ${error?.message ?? response.statusText}`);
    return `answered ${response.status}`;
  };
  /** null: no token of its tenant is held, or it has expired. */
  const readSession = async (id: string) => {
    const seen = sessionOf(store, id, tenants.acting?.tenant);
    const reader = seen === undefined ? tenants.client : tenants.clientOf(seen.tenant);
    if (reader === undefined) return null;
    const read = await reader.sandbox.session(id, { limit: 1 }, { attemptsMax: 1 }).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    });
    if (seen !== undefined) store.reads.set(keyOf(seen), read);
    return read;
  };
  const views: SessionViews = {
    open: (begin, id, seen) => {
      if (open?.id === id) return open;
      open = begin(id, {
        page: page as unknown as Browser,
        nodes: store.hello?.clusters.find(({ number }) => number === (seen?.cluster ?? 1))?.nodes ?? 0,
        beganMs: seen?.began_ms,
        events: (belongs) => sessionEvents(ask, id, seen?.tenant, belongs),
        read: () => readSession(id),
        fault: (fault) => store.faults.find((one) => one.id === fault),
        words: () => place.words,
        changed,
      });
      return open;
    },
  };
  const loadWords = () =>
    page
      .fetch(meta('signmesh-words'))
      .then(async (response) => {
        words = (await response.json()) as Words;
        changed();
      })
      // With the next connection again.
      .catch(() => undefined);
  const connect = () => {
    stop();
    store.connection = { state: 'connecting' };
    stop = followStream(
      {
        fetch: (...given) => page.fetch(...given),
        setTimeout: (task, ms) => page.setTimeout(task, ms),
        clearTimeout: (timer) => page.clearTimeout(timer),
      },
      {
        token: () => token,
        next: () => store.next,
        connected: (connection) => {
          store.connection = connection;
          changed();
        },
        greet: (hello) => {
          // Positions of another recording, or a gap: what is open is read again.
          if (hello.lost || store.hello?.began_at !== hello.began_at) open = undefined;
          store.greet(hello);
          if (words === undefined) void loadWords();
          void tenants.own();
          changed();
        },
        take: (batch) => {
          const before = open && sessionOf(store, open.id, tenants.acting?.tenant);
          const seen = store.take(batch);
          const kinds = new Map(store.faults.map(({ id, fault }) => [id, fault.fault]));
          if (place.panel === 'cluster') passing.show(seen, picture, (id) => kinds.get(id));
          const touching = open && sessionOf(store, open.id, tenants.acting?.tenant);
          if (touching !== before) void open?.refresh();
          open?.see(seen, (id) => touching?.faults.includes(id) ?? false);
          changed();
        },
      },
    );
  };

  const following: ConsoleContext['following'] = <T extends FollowedData>(follow: Follow<T>): T => {
    const { client: own } = tenants;
    const beganAt = store.hello?.began_at;
    if (followed?.follow === follow && followed.client === own && followed.beganAt === beganAt)
      return followed.data as T;
    followed?.data.stop();
    const data = follow(page, own, changed);
    followed = { follow, client: own, beganAt, data };
    return data;
  };
  const laterPanel = laterPanels(
    page,
    {
      requests: async () => {
        const { requestsPanel } = await import('./requests/requests-panel.ts');
        return (context) => requestsPanel(context, requests);
      },
      ceremonies: async () => {
        const { ceremoniesPanel } = await import('./ceremonies/ceremonies-panel.ts');
        return (context) => ceremoniesPanel(context, reads, views);
      },
      wallets: async () => (await import('./wallets/wallets-panel.ts')).walletsPanel,
      webhooks: async () => (await import('./webhooks/webhooks-panel.ts')).webhooksPanel,
      time: async () => (await import('./panels/time-panel.ts')).timePanel,
      tenants: async () => (await import('./panels/tenants-panel.ts')).tenantsPanel,
      faults: async () => (await import('./panels/faults-panel.ts')).faultsPanel,
      load: async () => (await import('./load/load-panel.ts')).loadPanel,
    },
    changed,
  );
  const panelOf = (context: ConsoleContext): Node => {
    if (store.hello === undefined) return null;
    return place.panel === 'cluster' ? clusterPanel(context, picture, passing) : laterPanel(place.panel, context);
  };
  const enter = (given: string) => {
    token = given;
    sessionStorage.setItem(tokenEntry, token);
    store.reads.clear();
    reads = sessionReads(page, tenants.clientOf, store, changed);
    requests = requestReads(tenants, store, changed);
    connect();
    atOnce();
  };
  const draw = () => {
    if (pictured !== store.nodes) picture = pictureOf(store.nodes);
    pictured = store.nodes;
    if (place.panel !== 'ceremonies' || place.chosen === '') open = undefined;
    if (!['wallets', 'webhooks', 'load'].includes(place.panel)) {
      followed?.data.stop();
      followed = undefined;
    }
    const context: ConsoleContext = {
      ...{ page, store, client, tenants, place, words, made, ownRequests: ownRequests.list },
      ...{ go, perform, resend, announce, following, changed: atOnce },
    };
    const { connection } = store;
    const needsToken = token === '' || (connection.state === 'refused' && connection.needsToken);
    document.title = `${panelNames[place.panel]} · signmesh`;
    render(shell(context, { content: panelOf(context), said, needsToken, enter }), root);
  };

  page.addEventListener('hashchange', () => {
    const next = placeOf(page.location.hash);
    if (fragmentOf(next) === fragmentOf(place)) return;
    place = next;
    open?.narrow();
    atOnce();
  });
  // Ages grow though nothing happens.
  const tick = () => {
    changed();
    page.setTimeout(tick, 1_000);
  };
  if (token !== '') connect();
  draw();
  page.setTimeout(tick, 1_000);
  document.body.dataset.ready = 'yes';
}

function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { details } = error as { readonly details?: readonly { readonly field?: string; readonly message?: string }[] };
  const fields = (details ?? []).flatMap(({ field, message }) =>
    message === undefined || error.message.includes(message) ? [] : [field === '' ? message : `${field}: ${message}`],
  );
  return [error.message, ...fields].join('; ');
}
