/** Where somebody goes once they are signed in. */

/** Far below what a cookie takes. */
const MOST_LENGTH = 1500

/** The page of the dashboard that was asked for, relative to `/app/`; empty if it is none: no text leads elsewhere. */
export function ownPage(asked: string | undefined): string {
  const isOwn =
    asked !== undefined && asked.length <= MOST_LENGTH && /^(?:[pt]\/[^\\\p{Cc}\p{Cs}]*|account)$/u.test(asked)
  return isOwn && !/(?:^|\/)\.\.?(?:\/|$|\?)/.test(asked) ? asked : ''
}
