/** Chooses light or dark before the first paint; loaded as a script that blocks. */
import { loadStored } from './model/stored.ts'

const chosen = loadStored('theme')
if (typeof chosen === 'string') document.documentElement.dataset['theme'] = chosen
