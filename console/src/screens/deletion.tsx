/** The question before an object of infrastructure is deleted. */
import { adminWords } from '../admin-words.ts'
import { words } from '../words.ts'

interface Place {
  readonly account: string
  readonly region: string
}

/** To be completed with what the confirmation does. */
export function askToDelete(name: string, effect: string, place?: Place) {
  return {
    title: adminWords.deleteTitle(name),
    effect: <p>{effect}</p>,
    action: adminWords.deleteAction(name),
    level: 2,
    typed: name,
    destructive: true,
    facts:
      place === undefined
        ? []
        : ([
            [words.account, place.account],
            [words.region, place.region],
          ] as const),
  } as const
}
