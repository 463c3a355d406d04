/** The form of bakes: where the files come from, how they become an image, and its name. */
import { useState } from 'preact/hooks'
import { standalone } from '../../../../src/settings/standalone.ts'
import { useLive } from '../../api/live.ts'
import { type Json, objectOf, objectsOf, textOf } from '../../model/read.ts'
import { withValueAt } from '../json-path.ts'
import { F, Fold, useForm, Ways } from './form.tsx'

type Source = 'directory' | 'git' | 'package'

export const bakeFields = [
  'cloudProvider',
  'regions',
  'package',
  'baseOs',
  'amiSuffix',
  'accountName',
  'extendedAttributes',
  'rebake',
]

export function BakeForm() {
  const { holder } = useForm()
  const provider = textOf(holder['cloudProviderType'] ?? holder['cloudProvider'])
  return provider === undefined || provider === standalone.provider ? <BakeHere /> : <BakeElsewhere />
}

function BakeHere() {
  return (
    <>
      <SourceFields />
      <Templates />
      <div class="form-row">
        <F name="package" label="Name of the image" placeholder="shop" required help="Mostly that of the application." />
        <F name="amiSuffix" label="Version" placeholder="time and commit" help="Leave it empty for a new one in each run." />
      </div>
      <Fold title="Account, attributes, and cache">
        <F
          name="accountName"
          label="Account"
          help="Whose image it is; all that you may change unless given. Only one keeps a cache."
        />
        <F name="extendedAttributes" label="Attributes" help="Steps of the template read color as BAKE_COLOR." />
        <F name="rebake" label="Bake even if an equal image exists" help="" />
      </Fold>
    </>
  )
}

const sourceKeys: Readonly<Record<Source, readonly string[]>> = {
  directory: ['directory'],
  git: ['git', 'revision', 'path'],
  package: [],
}

function SourceFields() {
  const { draft, base, holder } = useForm()
  const attributes = objectOf(holder['extendedAttributes'])
  const given = (['git', 'directory'] as const).find((key) => attributes[key] !== undefined)
  const [wanted, setWanted] = useState<Source>(holder['package'] !== undefined && given === undefined ? 'package' : 'git')
  const source = given ?? wanted
  const choose = (next: Source) => {
    setWanted(next)
    const others = (['directory', 'git'] as const).filter((each) => each !== next).flatMap((each) => sourceKeys[each])
    const without = (definition: Json) =>
      others.reduce((whole, key) => withValueAt(whole, [...base, 'extendedAttributes', key], undefined), definition)
    if (given !== undefined) draft.change('Change the source', without)
  }
  return (
    <>
      <Ways
        label="Files from"
        ways={[
          { id: 'git', label: 'A Git repository', help: 'The commit of the trigger, or a branch.' },
          { id: 'directory', label: 'A folder', help: 'On the machine of Fairlead.' },
          { id: 'package', label: 'A package', help: 'A file of the folder for packages, by the name below.' },
        ]}
        chosen={source}
        onChoose={choose}
      />
      {source === 'git' && (
        <>
          <F
            name="extendedAttributes.git"
            label="Repository"
            required
            placeholder="https://git.example.com/shop/web.git"
            help="An address with https://, ssh:// or git@, or a path."
          />
          <div class="form-row">
            <F name="extendedAttributes.revision" label="Revision" placeholder="of the trigger" help="Branch, tag or commit." />
            <F
              name="extendedAttributes.path"
              label="Folder in it"
              placeholder="the whole repository"
              help="For several programs."
            />
          </div>
        </>
      )}
      {source === 'directory' && (
        <F name="extendedAttributes.directory" label="Folder" required placeholder="/srv/shop" help="The whole path." />
      )}
    </>
  )
}

/** Those that this instance has; what is stored is shown even if it is none of them. */
function Templates() {
  const { holder, set } = useForm()
  const options = useLive('/bakery/options', {}, { refresh: 'open' }).reading.value.body
  const images = objectsOf(options).flatMap(({ baseImages }) => objectsOf(baseImages))
  const chosen = textOf(holder['baseOs'])
  const isComputed = chosen !== undefined && !images.some(({ id }) => id === chosen)
  if (images.length === 0 || isComputed)
    return <F name="baseOs" label="Template" required help="How the files become an image." />
  return (
    <Ways
      label="Template"
      ways={images.map(({ id, shortDescription, detailedDescription }) => ({
        id: textOf(id) ?? '',
        label: textOf(shortDescription) ?? textOf(id) ?? '',
        help: textOf(detailedDescription),
      }))}
      chosen={chosen}
      onChoose={(id) => set('baseOs', id)}
    />
  )
}

/** Where another bakery makes the images. */
function BakeElsewhere() {
  return (
    <>
      <F name="regions" label="Regions" help="An image is baked in each of them." />
      <F name="package" label="Packages" required help="Names, separated by blanks." />
      <F name="baseOs" label="Base image" help="" />
      <F name="extendedAttributes" label="Attributes" help="Values for the template of the bakery." />
      <F name="rebake" label="Bake even if an equal image exists" help="" />
    </>
  )
}
