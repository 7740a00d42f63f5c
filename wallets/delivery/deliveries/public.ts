/** What other modules use of deliveries. */

export { Deliverer } from './deliver.ts';
export { EventBodies } from './event-bodies.ts';
export { bullPrefix, bullQueueName } from './keys.ts';
export { Relay, type RelayOptions, relayDefaults } from './outbox-relay.ts';
export type { OutboxStore } from './outbox-store.ts';
export type { WebhookJob, WebhookQueue } from './queue.ts';
export { deliveryType } from './record.ts';
export { deliveryRoutes } from './routes.ts';
export { WebhookService } from './webhook-service.ts';
export { signDelivery } from './webhook-signature.ts';
