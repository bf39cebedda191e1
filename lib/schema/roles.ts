/** Account roles, in ascending order. Each role includes the permissions of all earlier roles. */
export const ROLES = ['viewer', 'member', 'owner'] as const
export type Role = (typeof ROLES)[number]

export const isRole = (text: string): text is Role => (ROLES as readonly string[]).includes(text)

/** Whether `role` includes the permissions of `needed`. */
export const isEnough = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)
