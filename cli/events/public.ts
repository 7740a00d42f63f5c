/** The parts for a sandbox's events that `listen`, `trigger` and others use. */
export { RecipeApi } from './api.ts';
export { asFailure, follow } from './follow.ts';
export { forward } from './forward.ts';
export { recipes, triggerTypes, untriggered } from './recipes.ts';
export { type ServiceTarget, type TargetFlags, TokenKept, targetOf, withTarget } from './target.ts';
