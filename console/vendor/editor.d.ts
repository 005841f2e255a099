/** The editor's bundle is a library's own matter: `tsc` takes it as it is. */
declare const editor: any;
export = editor;
