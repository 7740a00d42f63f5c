/** What other modules use of deliveries. */
export { EventBodies } from './bodies.ts';
export { Deliverer } from './deliver.ts';
export type { HookStore } from './hook-store.ts';
export { bullPrefix, bullQueueName } from './keys.ts';
export type { WebhookJob, WebhookQueue } from './queue.ts';
export { Relay, type RelayOptions, relayDefaults } from './relay.ts';
export { deliveryRoutes } from './routes.ts';
export { signDelivery } from './signatures.ts';
export { WebhookService } from './webhook-service.ts';
