/** What a rollback does: commits that go, and instances that still run or must start. */
import { useLive } from '../api/live.ts'
import { countsOf, isEnabled, type ServerGroup, versionOf } from '../model/server-groups.ts'
import { plural } from '../words.ts'
import { Name } from './text.tsx'

interface RollBackNoteProps {
  readonly application: string
  readonly from: ServerGroup
  readonly target: ServerGroup | undefined
}

export function RollBackNote({ application, from, target }: RollBackNoteProps) {
  const { body = [] } = useLive(
    '/applications/{application}/releases',
    { path: { application } },
    { refresh: 'open' },
  ).reading.value
  if (target === undefined) return null
  const releaseOf = (group: ServerGroup) =>
    body.find(({ images }) => images.includes(versionOf(group) ?? ''))
  const [newer, older] = [releaseOf(from), releaseOf(target)]
  const going = body.filter(
    ({ commit, images, atMs }) =>
      commit &&
      images.length > 0 &&
      newer &&
      older &&
      (atMs ?? 0) > (older.atMs ?? 0) &&
      (atMs ?? 0) <= (newer.atMs ?? 0),
  )
  const { total, up } = countsOf(target)
  const instances =
    total === 0
      ? 'Its instances must start first.'
      : `${plural(up, 'instance')} of it still ${up === 1 ? 'runs' : 'run'}: traffic moves within seconds${up < total ? ` once ${total - up} more are up` : ''}.`
  return (
    <div class="prose">
      <p>
        <Name
          text={`${versionOf(from) ?? from.name} → ${versionOf(target) ?? target.name}`}
          max={120}
        />
      </p>
      <p>{isEnabled(target) ? 'It serves beside the other one already.' : instances}</p>
      <p>
        {going.length > 0
          ? `${plural(going.length, 'commit')} no longer ${going.length === 1 ? 'serves' : 'serve'}:`
          : 'Which commits go is not known.'}
      </p>
      <ul class="plain-list">
        {going.map(({ version, commit }) => (
          <li key={version}>
            <Name
              text={`${commit?.message?.split('\n')[0] ?? version} (${commit?.author ?? 'unknown'})`}
              max={90}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}
