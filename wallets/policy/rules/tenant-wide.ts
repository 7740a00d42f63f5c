/** Refuses changes of tenant-wide settings by a token that is limited to some provider connections. */

import { ServiceError } from '../../../gateway/api/errors/service-error.ts';
import type { Principal } from '../../../gateway/api/principal.ts';

/** Throws ServiceError 403. */
export function needWholeTenant({ providerConnectionIds }: Principal): void {
  if (providerConnectionIds === undefined) return;
  throw new ServiceError('insufficientScope', 'a provider-scoped token cannot change settings of the whole tenant');
}
