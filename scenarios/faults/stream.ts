/** What a page sees of a running sandbox, by topics: GET /v1/sandbox/stream. */
import type { RunEvent } from './recording.ts';

export const streamTopics = ['frames', 'processes', 'faults', 'sessions', 'deliveries', 'figures'] as const;
export type StreamTopic = (typeof streamTopics)[number];

export const topicOf: Readonly<Record<RunEvent['kind'], StreamTopic>> = {
  frame: 'frames',
  process: 'processes',
  fault: 'faults',
  violation: 'faults',
  actor: 'sessions',
  state: 'sessions',
  step: 'sessions',
  delivery: 'deliveries',
};
