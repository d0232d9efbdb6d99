import { createContext, useContext } from 'react';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IArchive } from './archive';
import type { Highlight } from './highlight';
import type { Inspector } from './inspector';
import type { IKernels } from './kernels';
import type { ILiveFeed } from './live';
import type { PostMortems } from './model';
import type { INotebooks } from './notebooks';
import type { IReruns } from './reruns';
import type { Trials } from './trials';

/** What the components need from JupyterLab and the server. */
export interface IDoctor {
  trans: TranslationBundle;
  model: PostMortems;
  inspector: Inspector;
  archive: IArchive;
  notebooks: INotebooks;
  live: ILiveFeed;
  kernels: IKernels;
  reruns: IReruns;
  trials: Trials;
  highlight: Highlight;
  docsUrl: (path: string) => string;
  openPage: (path: string) => void;
  copy: (text: string) => void;
}

export const DoctorContext = createContext<IDoctor | null>(null);

export function useDoctor(): IDoctor {
  const doctor = useContext(DoctorContext);
  if (!doctor) {
    throw new Error('The panel is rendered outside its DoctorContext.');
  }
  return doctor;
}
