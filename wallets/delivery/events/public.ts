/** What other modules use of events: their types, reading and streaming them. */
export type { StreamTimes } from './event-stream.ts';
export { type FeedLimits, LiveFeed } from './live-feed.ts';
export { eventRoutes } from './routes.ts';
export { eventStreamRoutes } from './stream-routes.ts';
export { eventTypes, isEventFilter } from './types.ts';
export { eventView } from './view.ts';
export type { Wakes } from './wakes.ts';
