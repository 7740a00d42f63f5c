/** What other modules use of webhooks. */
export { findWebhook } from './find.ts';
export { aboutSecret, type WebhookRecord, type WebhookStatus, webhookSending, webhookType } from './record.ts';
export { registerWebhook, removeWebhook, webhookRoutes } from './routes.ts';
export { urlOf, withoutQueryValues } from './urls.ts';
export { EventList, WebhookSettings, webhookView } from './view.ts';
