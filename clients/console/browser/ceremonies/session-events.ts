/**
 * The events of a session from the recording: its frames, which are retained for longest, and around them what the recording still
 * has of its actors, of the faults that touched it, and of processes.
 */
import type { SandboxEvent, SandboxRecording } from '../../../client/generated-api.ts';
import type { SeenEvent } from '../shared/store.ts';

type Recorded = Pick<SandboxRecording, 'events' | 'positions' | 'next'>;

export interface SessionEvents {
  /** In order of their positions. */
  readonly seen: readonly SeenEvent[];
  /** The first position that they do not reach. */
  readonly next: number;
}

const eventsMax = 10_000;
/** Events before the first frame and after the last: its actors begin a little earlier, and end a little later. */
const beside = 200;

/** `tenant`: whose session; undefined: the caller's. `belongs`: given the faults of its frames. */
export async function sessionEvents(
  ask: <T>(path: string) => Promise<T>,
  id: string,
  tenant: string | undefined,
  belongs: (event: SandboxEvent, faults: ReadonlySet<string>) => boolean,
): Promise<SessionEvents> {
  const whose = tenant === undefined ? '' : `&tenant=${encodeURIComponent(tenant)}`;
  const frames = await ask<Recorded>(`/v1/sandbox/recording?session=${encodeURIComponent(id)}${whose}`);
  const { next, positions } = frames;
  const [first, last] = [positions[0], positions.at(-1)];
  if (first === undefined || last === undefined) return { seen: [], next };
  const faults = new Set(frames.events.flatMap((event) => (event.kind === 'frame' ? event.faults : [])));
  const after = Math.max(0, first - beside);
  const limit = Math.min(eventsMax, last - after + beside);
  const around = await ask<Recorded>(`/v1/sandbox/recording?after=${after}&limit=${limit}`);
  const found = new Map(seenOf(frames).map((seen) => [seen.position, seen] as const));
  for (const seen of seenOf(around))
    if (seen.position < next && belongs(seen.event, faults)) found.set(seen.position, seen);
  return { seen: [...found.values()].sort((a, b) => a.position - b.position), next };
}

function seenOf({ events, positions }: Recorded): readonly SeenEvent[] {
  return events.map((event, index) => ({ event, position: positions[index] ?? -1 }));
}
