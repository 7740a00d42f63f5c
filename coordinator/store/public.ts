/** What others use of the session store: where its keys lie. */
export { changeOf, endingOf, openingOf } from './layout.ts';
