/**
 * The session that the page shows: its events from the recording, then those of the stream, in one model with the diagram over it.
 * Runs in the browser.
 */

import type { RunEvent } from '../../../../scenarios/faults/recording.ts';
import { type RunEventJson, runEventOf } from '../../../../scenarios/faults/recording-json.ts';
import type { SandboxEvent, SandboxFault, SandboxSession } from '../../../client/generated-api.ts';
import { type DiagramView, makeDiagram } from '../../../report/html/browser/diagram.ts';
import type { Browser, Canvas, Ui } from '../../../report/html/browser/dom.ts';
import { type LiveModel, makeLiveModel } from '../../../report/html/browser/live-model.ts';
import { makePanels } from '../../../report/html/browser/panels.ts';
import { makePageRead } from '../shared/page-read.ts';
import type { SeenEvent } from '../shared/store.ts';
import type { SessionEvents } from './session-events.ts';

export interface OpenSession {
  readonly id: string;
  readonly live: LiveModel;
  readonly isLoading: boolean;
  readonly isByTime: boolean;
  /** Why its events are not shown; empty: they are. */
  readonly problem: string;
  /** undefined: not read yet; null: no token of its tenant is held, or it has expired. */
  readonly read: SandboxSession | null | undefined;
  /** undefined: it is not on the screen. */
  readonly diagram: DiagramView | undefined;
  /** Events of the stream, of any session. */
  see(seen: readonly SeenEvent[], isTouching: (faultId: string) => boolean): void;
  /** It may have changed: reads it again. */
  refresh(): Promise<void>;
  /** The words that narrow the diagram changed. */
  narrow(): void;
  toggleTime(): void;
  /** For the element that scrolls, and for that of the chosen event. */
  mount(scroller: Ui | null): void;
  mountDetails(into: Ui | null): void;
}

export interface OpenPorts {
  readonly page: Browser;
  /** Nodes of its cluster. */
  readonly nodes: number;
  /** The time of its first frame in the recording; undefined: not known. */
  readonly beganMs: number | undefined;
  /** All events that are retained of it. */
  events(belongs: (event: SandboxEvent, faults: ReadonlySet<string>) => boolean): Promise<SessionEvents>;
  read(): Promise<SandboxSession | null>;
  fault(id: string): SandboxFault | undefined;
  words(): string;
  changed(): void;
}

export function openSession(id: string, ports: OpenPorts): OpenSession {
  const { page } = ports;
  const live = makeLiveModel(ports.nodes);
  const panels = makePanels(page, live.model, live.spans);
  let isLoading = true;
  let isByTime = false;
  let problem = '';
  let diagram: DiagramView | undefined;
  let mounted: Ui | undefined;
  let details: Ui | undefined;
  /** Of the stream, while the recording is read. */
  let waiting: SeenEvent[] = [];
  const shownFaults = new Set<string>();
  let next = 0;
  /** The diagram's time begins with the session. */
  let zeroMs = ports.beganMs;

  const shift = (event: SandboxEvent): RunEvent => {
    const own = runEventOf(event as RunEventJson);
    zeroMs ??= own.atMs;
    const atMs = Math.max(0, own.atMs - zeroMs);
    if (own.kind !== 'frame') return { ...own, atMs };
    return { ...own, atMs, arrivesMs: own.arrivesMs.map((ms) => atMs + Math.max(0, ms - own.atMs)) };
  };

  /** A fault that touches a frame is shown from there on, if its own beginning was before. */
  const add = (seen: readonly SeenEvent[]) => {
    const events = seen.flatMap(({ event }) => {
      if (event.kind === 'fault') shownFaults.add(event.id);
      if (event.kind !== 'frame') return [event];
      const missing = event.faults.filter((fault) => !shownFaults.has(fault));
      for (const fault of missing) shownFaults.add(fault);
      return [...missing.flatMap((fault) => armedAt(event.at_ms, ports.fault(fault))), event];
    });
    live.append(events.map(shift));
  };
  const append = (seen: readonly SeenEvent[]) => {
    const fresh = seen.filter(({ position }) => position >= next);
    if (fresh.length === 0) return;
    add(fresh);
    diagram?.appended();
  };
  ports
    .events((event, faults) => isOf(event, id, (fault) => faults.has(fault)))
    .then(
      (found) => {
        add(found.seen);
        next = found.next;
        isLoading = false;
        diagram?.arrange();
        append(waiting);
        waiting = [];
        ports.changed();
      },
      (error: unknown) => {
        isLoading = false;
        problem = `Its events could not be read: ${error instanceof Error ? error.message : String(error)}`;
        append(waiting);
        ports.changed();
      },
    );
  const read = makePageRead(ports.read, ports.changed);
  const { refresh } = read;
  void refresh();
  const unmount = () => {
    diagram?.stop();
    diagram = undefined;
    mounted = undefined;
  };
  const show = (event: number) => {
    if (details !== undefined) panels.showEvent(details, event, { session: () => undefined });
  };
  return {
    ...{ id, live },
    get isLoading() {
      return isLoading;
    },
    get isByTime() {
      return isByTime;
    },
    get problem() {
      return problem;
    },
    get read() {
      return read.value;
    },
    get diagram() {
      return diagram;
    },
    see: (seen, isTouching) => {
      const own = seen.filter(({ event }) => isOf(event, id, isTouching));
      if (own.length === 0) return;
      if (isLoading) waiting.push(...own);
      else append(own);
    },
    refresh,
    narrow: () => diagram?.arrange(),
    toggleTime: () => {
      isByTime = !isByTime;
      diagram?.setOrdinal(!isByTime);
      ports.changed();
    },
    mount: (scroller) => {
      if (scroller === null) unmount();
      if (scroller === null || scroller === mounted) return;
      mounted = scroller;
      const space = page.document.createElement('div');
      const canvas = page.document.createElement('canvas') as Canvas;
      canvas.className = 'canvas';
      space.append(canvas);
      scroller.replaceChildren(space);
      diagram = makeDiagram(page, {
        ...{ model: live.model, spans: live.spans, scroller, space, canvas },
        line: (event) => panels.line(event),
        filter: () => ({ words: ports.words(), without: new Set(), actor: '', session: '', fault: '' }),
        chosen: show,
      });
      diagram.setOrdinal(!isByTime);
    },
    mountDetails: (into) => {
      details = into ?? undefined;
      show(diagram?.selected ?? -1);
    },
  };
}

function armedAt(atMs: number, fault: SandboxFault | undefined): readonly SandboxEvent[] {
  if (fault === undefined) return [];
  const { fault: kind, target = [] } = fault.fault as { readonly fault: never; readonly target?: string | string[] };
  const text = `armed at ${fault.armed_at}`;
  return [{ kind: 'fault', at_ms: atMs, id: fault.id, fault: kind, targets: [target].flat(), what: 'armed', text }];
}

/** Whether an event belongs to a session: its frames and states, and the faults that touch it. */
function isOf(event: SandboxEvent, id: string, isTouching: (faultId: string) => boolean): boolean {
  switch (event.kind) {
    case 'frame':
    case 'step':
    case 'delivery':
      return event.session === id;
    case 'state':
    case 'actor':
      return event.address.endsWith(`/${id}`) || event.fields.session === id;
    case 'fault':
      return isTouching(event.id);
    case 'process':
      return /^(cluster\/\d+\/)?(node\/\d+|coordinator)$/.test(event.process);
    case 'violation':
      return true;
  }
}
