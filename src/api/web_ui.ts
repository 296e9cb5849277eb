/** Kind of the backend that is the web UI; its names are `read-only` and `read-write`. */
export const WEB_UI_KIND = "WebUI";
