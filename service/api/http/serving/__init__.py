"""What stands around the routes: connections, what surrounds a request, the class of every route, housekeeping."""
