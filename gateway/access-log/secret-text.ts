/** Texts of callers without what they may hold by mistake: a token or a webhook's secret in place of an id. */

/** In place of a value that is not shown. */
export const secretText = '(secret)';

/** Shows only the kind of a secret. */
export function withoutSecrets(text: string): string {
  return secretPrefix.test(text) ? text.replace(secrets, '$1$2…') : text;
}

const secretPrefix = /svc_sk_|whsec_/;
const secrets = /(svc_sk_(?:test_|live_)?)[A-Za-z0-9]*|(whsec_)[A-Za-z0-9+/=_-]*/g;
