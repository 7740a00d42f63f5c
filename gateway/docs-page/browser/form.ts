/** The page at work: it keeps the token, narrows the list of operations, fills in the caller's own ids, and sends the form. */
import { tokenEntry } from '../../../core/pages/token-entry.ts';
import type { Element, PageBrowser } from './dom.ts';
import { callOf, curlLine, type Filled, idsIn, type PlainCall } from './request.ts';

/** Of an answer, as much as a page shows at ease. */
const shownCharsMax = 500_000;

export function startForm(browser: PageBrowser): void {
  const { document } = browser;
  const token = keptToken(browser);
  narrowOperations(document.querySelector('#filter'), document);
  const form = document.querySelector('#request');
  if (form === null) return;
  const part = (id: string): Element => document.querySelector(`#${id}`)!;
  const fields = [...form.querySelectorAll('[data-in]')];
  const body = document.querySelector('#sent');
  const filled = (): Filled => ({
    method: form.dataset.method!,
    path: form.dataset.path!,
    isPublic: form.dataset.public === 'yes',
    token: token.value,
    fields: fields.map(({ dataset, value }) => ({ in: dataset.in!, name: dataset.name!, value })),
    body: body?.value,
  });
  const show = (): void => {
    part('curl').textContent = curlLine(browser.location.origin, callOf(filled()));
  };
  form.addEventListener('input', show);
  show();
  part('copy').addEventListener(
    'click',
    () => void browser.navigator.clipboard?.writeText(part('curl').textContent ?? ''),
  );
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(callOf(filled()), part);
  });
  const refill = () => fillOwnIds(document, filled, fields, body).then(show);
  token.addEventListener('change', () => void refill());
  void refill();
}

/** The reader's own entry takes precedence over the sandbox's public token; it stays until the tab closes. */
function keptToken({ document, sessionStorage }: PageBrowser): Element {
  const field = document.querySelector('#token')!;
  const offered = document.querySelector('meta[name=token]') as unknown as { readonly content: string } | null;
  field.value = sessionStorage.getItem(tokenEntry) ?? offered?.content ?? '';
  field.addEventListener('change', () => sessionStorage.setItem(tokenEntry, field.value));
  document.querySelector('.token')?.addEventListener('submit', (event) => event.preventDefault());
  return field;
}

function narrowOperations(filter: Element | null, document: PageBrowser['document']): void {
  if (filter === null) return;
  const opened = new Map([...document.querySelectorAll('nav details')].map((tag) => [tag, tag.open]));
  filter.addEventListener('input', () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [tag, wasOpen] of opened) {
      let fits = 0;
      for (const item of tag.querySelectorAll('li')) {
        const [link] = item.querySelectorAll('a') as unknown as Iterable<{ readonly title: string }>;
        const text = `${item.textContent} ${link!.title}`.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
        if (!item.hidden) fits += 1;
      }
      tag.hidden = fits === 0;
      tag.open = words.length > 0 || wasOpen;
    }
  });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as { readonly tagName?: string }).tagName ?? '');
    if (event.key !== '/' || typing) return;
    event.preventDefault();
    filter.focus();
  });
}

/** Reads the lists of the caller's own things, once each: the first of each takes the place of a placeholder. */
async function fillOwnIds(
  document: PageBrowser['document'],
  filled: () => Filled,
  fields: readonly Element[],
  body: Element | null,
): Promise<void> {
  const read = new Map<string, Promise<readonly string[]>>();
  const idsOf = (list: string): Promise<readonly string[]> => {
    // A list below another thing of the caller's needs that one's id first.
    const call = callOf({ ...filled(), method: 'GET', path: list, body: undefined });
    const ids = read.get(call.target) ?? (call.target.includes('{') ? Promise.resolve([]) : ownIds(call));
    read.set(call.target, ids);
    return ids;
  };
  for (const field of fields) {
    if (field.dataset.list === undefined) continue;
    const ids = await idsOf(field.dataset.list);
    const known = document.querySelector(`#path-${field.dataset.name}-known`);
    known?.replaceChildren(...ids.map((id) => option(document, id)));
    // Which process, which module: nothing is chosen for the caller.
    if (field.value === '' && /id$/i.test(field.dataset.name!)) field.value = ids[0] ?? '';
  }
  const lists = JSON.parse(body?.dataset.lists ?? '{}') as Readonly<Record<string, string>>;
  for (const [placeholder, list] of Object.entries(lists)) {
    const [own] = await idsOf(list);
    if (own !== undefined && body !== null) body.value = body.value.replaceAll(placeholder, own);
  }
}

function option(document: PageBrowser['document'], id: string): Element {
  const element = document.createElement('option');
  element.value = id;
  return element;
}

async function ownIds({ method, target, headers }: PlainCall): Promise<readonly string[]> {
  try {
    const answer = await fetch(target, { method, headers });
    return answer.ok ? idsIn(await answer.json()) : [];
  } catch {
    return [];
  }
}

async function send(call: PlainCall, part: (id: string) => Element): Promise<void> {
  const stop = new AbortController();
  const shown = part('body');
  part('answer').hidden = false;
  part('stop').hidden = false;
  part('stop').addEventListener('click', () => stop.abort());
  part('status').textContent = 'under way …';
  shown.textContent = '';
  const began = performance.now();
  try {
    const answer = await fetch(call.target, {
      method: call.method,
      headers: call.headers,
      ...(call.body === undefined ? {} : { body: call.body }),
      signal: stop.signal,
    });
    part('status').className = answer.ok ? 'good' : 'bad';
    part('status').textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - began)} ms`;
    part('headers').textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
    await showBody(answer, shown);
  } catch (error) {
    part('status').className = 'bad';
    const reason = error instanceof Error ? error.message : String(error);
    part('status').textContent = stop.signal.aborted ? 'stopped' : `no answer: ${reason}`;
  }
  part('stop').hidden = true;
}

/** A stream is shown as it arrives. */
async function showBody(answer: Response, shown: Element): Promise<void> {
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) {
    shown.textContent = indented(await answer.text()).slice(0, shownCharsMax);
    return;
  }
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; text.length < shownCharsMax; ) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    shown.textContent = text;
  }
  await reader.cancel();
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
